"""What HTML's markup looks like, as regular expressions for text or bytes; ``\\s`` is meant to be ASCII's."""

# Attributes up to the end of the tag; a ">" in quotes does not end it.
ATTRIBUTES = r"""[^>=]*+(?:=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|)[^>=]*+)*+"""
# What is not shown, after the "<": an element that contains text only, in lower case, and a comment.
RAW = (
    rf"(script|style|noscript|iframe|noembed|noframes)(?=[\s/>]){ATTRIBUTES}"
    r"(?:>[^<]*+(?:<(?!/\1[\s/>])[^<]*+)*+(?:</\1[^>]*+>?+|\Z)|\Z)"
)
COMMENT = r"!--(?:-?+>|[^-]*+(?:-(?!-!?+>)[^-]*+)*+(?:--!?+>|\Z))"
# Where this does not match, in lower case, no element has the attribute.
PERHAPS_HIDDEN = r"""hidden(?<=[\s/"']hidden)(?:[\s=/>]|\Z)"""
# What only a tree tells apart, in lower case: elements that hide others, and text that looks like markup.
NESTING = (
    r"<(?:t(?:emplate|(?:itle|extarea)(?=[\s/>])[^<>]*+>[^<]*+<(?!/t))"
    r"|datalist|plaintext|xmp|frameset|!\[cdata\[)"
)
