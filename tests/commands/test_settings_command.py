"""`scrapy freshness settings`."""

from collections.abc import Callable

from answering import Answer

from scrapy_freshness.config import reference

Run = Callable[..., Answer]

NOWHERE = "sqlite:///nowhere/freshness.db"


def test_the_reference_needs_no_database_and_has_every_setting(freshness: Run) -> None:
    answer = freshness("settings", url=NOWHERE)

    assert answer.exit_code == 0
    for name, _, meaning in reference():
        assert name in answer.out
        assert meaning.split()[0] in answer.out


def test_a_value_that_differs_is_shown_with_its_default(freshness: Run) -> None:
    out = freshness("settings", url=NOWHERE, settings={"FRESHNESS_BUDGET": "20/s"}).out

    assert 'FRESHNESS_BUDGET = "20/s"  (default: "1/s")' in out
    assert 'FRESHNESS_POLICY = "holistic"\n' in out


def test_options_override_the_project(freshness: Run) -> None:
    answer = freshness(
        "settings", "--json", "-s", "FRESHNESS_BUDGET=3/s", settings={"FRESHNESS_BUDGET": "2/s"}
    )
    values = {setting["name"]: setting["value"] for setting in answer.json["settings"]}

    assert values["FRESHNESS_BUDGET"] == "3/s"


def test_a_password_is_not_shown(freshness: Run) -> None:
    url = "postgresql://me:s%20cret@host/name"
    for arguments in ((), ("--json",)):
        answer = freshness("settings", *arguments, url=url)
        assert "postgresql://me@host/name" in answer.out
        assert "cret" not in answer.out + answer.err


def test_a_database_url_that_cannot_be_parsed_is_not_shown(freshness: Run) -> None:
    answer = freshness("settings", url="postgresql://me:se:cr@et@@host:port/name")

    assert 'FRESHNESS_DATABASE_URL = "(cannot be read)"' in answer.out
    assert "cr@et" not in answer.out + answer.err


def test_a_value_that_cannot_be_used_is_told_after_the_reference(freshness: Run) -> None:
    answer = freshness("settings", url=NOWHERE, settings={"FRESHNESS_BUDGET": "fast"})

    assert answer.exit_code == 2
    assert 'FRESHNESS_BUDGET = "fast"' in answer.out
    assert "FRESHNESS_BUDGET cannot be 'fast'" in answer.err


def test_a_misspelt_setting_is_pointed_out(freshness: Run) -> None:
    settings = {"FRESHNESS_BUGDET": "2/s"}

    assert "FRESHNESS_BUGDET is not a setting" in freshness("settings", url=NOWHERE, settings=settings).out
    assert freshness("settings", "--json", url=NOWHERE, settings=settings).json["unknown"] == [
        "FRESHNESS_BUGDET"
    ]


def test_markdown_has_a_row_for_every_setting_and_nothing_of_the_project(freshness: Run) -> None:
    out = freshness("settings", "--markdown", url=NOWHERE, settings={"FRESHNESS_BUDGET": "77/s"}).out

    assert out.startswith("# Settings\n")
    assert len([line for line in out.splitlines() if line.startswith("| `FRESHNESS_")]) == len(reference())
    assert '| `FRESHNESS_BUDGET` | `"1/s"` |' in out
    assert "77/s" not in out
