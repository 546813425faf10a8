"""The wheel carries what an installation needs: types, commands and migrations."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_types_and_migrations_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert "scrapy_freshness/py.typed" in names
    assert "scrapy_freshness/storage/alembic/env.py" in names
    assert any(name.startswith("scrapy_freshness/storage/alembic/versions/0001_") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert all(top == "scrapy_freshness" or top.endswith(".dist-info") for top in tops), tops
    assert not [name for name in names if name.endswith((".db", ".pyc"))]


def test_an_installed_wheel_can_make_a_database(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", system_site_packages=False, symlinks=True, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = tmp_path / "venv" / "lib" / version / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # The dependencies are those of the tests; the package itself is the unpacked wheel.
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed))

    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-m", "scrapy", "freshness", "db", "upgrade"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(packages)},
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "freshness.db").exists()
