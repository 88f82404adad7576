"""The page of `vdgi annotate` in a real browser: keys, mouse, undo, kills, two tabs, scripts,
widths."""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from annotating import ROWS, Client, served, start, written

from dynet_vdgi.conllu.reading import read
from dynet_vdgi.conllu.sentence import Sentence
from dynet_vdgi.validation import udtools

pytest.importorskip("starlette", reason="Starlette, of the extra annotate, is not installed")

playwright = pytest.importorskip(
    "playwright.sync_api", reason="Playwright, of the extra dev, is not installed"
)

expect = playwright.expect

expect.set_options(timeout=60_000)  # for machines with much other work

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH"),
]

DEMO = Path(__file__).parents[2] / "resources" / "demo" / "demo-ud-train.conllu"

PICTURES = os.environ.get("VDGI_PICTURES")

"""A folder for pictures of the page, such as docs/pictures; otherwise they are not kept."""

SCRIPTS = """1\tيكتب\t_\tVERB\t_\t_\t_\t_\t_\t_
2\tالطالب\t_\tNOUN\t_\t_\t_\t_\t_\t_
3\tالدَّرْسَ\t_\tNOUN\t_\t_\t_\t_\t_\t_
4\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_

1\tनमस्ते\t_\tINTJ\t_\t_\t_\t_\t_\t_
2\tg̈ȩ̇\t_\tNOUN\t_\t_\t_\t_\t_\t_
3\t漢字\t_\tNOUN\t_\t_\t_\t_\t_\t_

# sent_id = <img src=x onerror=document.title=1>"'
# text = "'</script><script>document.title=1</script>
1\t<img/src=x/onerror=document.title=1>\t_\tNOUN\t_\t_\t_\t_\t_\t_
2\t\u202e"'&lt;\u200b\t_\tVERB\t_\t_\t_\t_\t_\t_

"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a window; nothing may be asked of others, and no script may fail."""
    contexts, faults = [], []

    def open_tab(address: str, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console",
            lambda line: faults.append(line.text) if "Content Security" in line.text else None,
        )
        base = address.split("/", 3)[2]
        page.on("request", lambda r: None if base in r.url.split("/")[2] else faults.append(r.url))
        page.goto(address)
        expect(page.locator("#words li").first).to_be_visible()
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "a.conllu")


@pytest.fixture
def client(path: Path) -> Iterator[Client]:
    """A page without learning, by requests."""
    with served(path) as address:
        yield Client(address)


@pytest.fixture
def page(client: Client, tab: Callable[..., Any]) -> Any:
    """That page in a window."""
    return tab(client.address)


def says(page: Any, text: str) -> None:
    """Waits until the page says something."""
    expect(page.locator("#notice")).to_contain_text(text)


def refuses(page: Any, text: str) -> None:
    """Waits until the page says why something is not done."""
    expect(page.locator("#notice.bad")).to_contain_text(text)


def keys(
    page: Any, *names: str, at: int = 0, says: str = "", refuses: str = "", then: int = 0
) -> None:
    """Presses keys, at a word; what follows a ' is typed letter by letter. Then the page says
    something."""
    if at:
        word(page, at).locator(".form").click()
    for name in names:
        if name.startswith("'"):
            page.keyboard.type(name[1:])
        else:
            page.keyboard.press(name)
    if says or refuses:
        expect(page.locator("#notice.bad" if refuses else "#notice")).to_contain_text(
            says or refuses
        )
    if then:
        expect(word(page, then)).to_be_focused()


def word(page: Any, number: int) -> Any:
    return page.locator(f"#words li[data-place='{number}']")


def sentence(page: Any, number: int) -> None:
    """Goes to a sentence."""
    page.locator("#number").fill(str(number))
    page.locator("#number").press("Enter")
    expect(page.locator("#heading")).to_contain_text(f"Sentence {number} ")
    # a click on the tag of a selected word asks for another one
    word(page, 1).locator(".form").click()


def heads(client: Client, number: int) -> list[int]:
    """The heads of a sentence, numbered from 0, as the program has them."""
    return [one["head"] for one in client.get(f"sentence/{number}")["words"]]


def test_a_sentence_is_annotated_with_keys_alone(page: Any, client: Client) -> None:
    keys(page, "Tab")
    expect(page.locator(".skip")).to_be_focused()
    keys(page, "Enter")
    for _ in range(12):
        if page.evaluate("document.activeElement.matches('#words li')"):
            break
        keys(page, "Tab")
    keys(page, "Home")
    expect(word(page, 1)).to_have_attribute("aria-selected", "true")
    keys(page, "5")
    expect(page.locator("#notice")).to_have_text("1 The, DET, head 5 bark, dep, head confirmed.")
    keys(page, "End", "ArrowLeft", then=5)
    keys(page, "l", "'root", "Enter", then=5)
    keys(page, "ArrowLeft", "l", "'negation", "Enter", refuses="Enter once more stores it")
    expect(page.locator("#choice-input")).to_be_focused()
    keys(page, "Enter", says="4 n't, PART, head 5 bark, negation")
    expect(word(page, 4)).to_be_focused()
    keys(page, " ")
    expect(page.locator("#arcs .arc.confirmed path")).to_have_count(2)
    expect(page.locator("#arcs .arc.confirmed text").last).to_have_text("✓ negation")
    keys(page, "9")
    expect(page.locator("#notice")).to_have_text("There is no word 9.")
    keys(page, "a")
    expect(page.locator("#heading")).to_contain_text("Sentence 2 (sent_id two)")
    expect(page.locator("#sentences-done")).to_have_text("1 of 3")
    found = client.get("sentence/0")
    assert found["done"]
    assert found["words"][3]["label"] == "negation"
    assert found["words"][0]["head"] == 5
    keys(page, "u", says="Taken back, in sentence 1")
    expect(page.locator("#sentences-done")).to_have_text("0 of 3")
    keys(page, "r")
    expect(page.locator("#sentences-done")).to_have_text("1 of 3")
    keys(page, "/", "'cats")
    expect(page.locator("#found button")).to_have_count(1)
    keys(page, "Enter", "Enter")
    expect(page.locator("#heading")).to_contain_text("Sentence 3")


def test_numbers_of_several_digits_wait_for_enter(tmp_path: Path, tab: Callable[..., Any]) -> None:
    text = "".join(f"{n}\tw{n}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for n in range(1, 24)) + "\n"
    with served(written(tmp_path / "a.conllu", text)) as address:
        page = tab(address)
        word(page, 3).click()
        for pressed, head in ((["1", "Enter"], 1), (["1", "5"], 15), (["5"], 5), (["0"], 0)):
            keys(page, *pressed)
            expect(page.locator("#head")).to_have_text(re.compile(rf"^{head} "))
            assert heads(Client(address), 0)[2] == head
        keys(page, "0", says="It is so already: 3 w3, NOUN, root of the sentence")
        keys(page, "2", says="Head 2: Enter, or more digits")
        keys(page, "Escape")
        expect(page.locator("#notice")).to_have_text("")
        edits = Client(address).get("sentence/0")["edits"]
        page.keyboard.type("99")
        expect(page.locator("#notice.bad")).to_have_text("There is no word 99.")
        keys(page, "'9", "Backspace")
        page.wait_for_timeout(600)
        assert Client(address).get("sentence/0")["edits"] == edits
        keys(page, "9")
        word(page, 4).click()  # at once: the number was about the other word
        keys(page, "8")
        keys(page, "x")  # another key ends a number, too
        wait_for(lambda: Client(address).get("sentence/0")["edits"] == edits + 3)
        assert heads(Client(address), 0)[2:4] == [9, 8]
        assert Client(address).get("sentence/0")["words"][3]["head_by"] == ""


def drag(page: Any, number: int, target: Any) -> None:
    """Drags a word to something else."""
    box = word(page, number).bounding_box()
    goal = target.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(goal["x"] + 30, goal["y"] + 5, steps=5)
    page.mouse.move(goal["x"] + 30, goal["y"] + 10)
    page.mouse.up()


def test_heads_are_set_by_dragging_and_arcs_are_clicked(page: Any, client: Client) -> None:
    sentence(page, 1)
    drag(page, 1, word(page, 4))
    says(page, "1 The, DET, head 4 n't")
    assert heads(client, 0)[0] == 4
    drag(page, 2, page.locator("#root"))
    says(page, "2 dogs, NOUN, root of the sentence")
    assert heads(client, 0)[1] == 0
    page.locator("#arcs .arc[data-place='1'] text").click()
    expect(page.locator("#word-heading")).to_have_text("Word 1: The")
    expect(page.locator("#choice-title")).to_contain_text("Relation of 1 The")
    keys(page, "Escape")
    before = heads(client, 0)[0]
    page.locator("#pick").click()
    word(page, 3).click()
    says(page, "1 The, DET, head 3 do")
    page.locator("#undo").click()
    says(page, "Taken back")
    assert heads(client, 0)[0] == before != 3
    keys(page, "Control+z")
    expect(page.locator("#redo")).to_be_enabled()


def test_what_is_impossible_what_follows_and_what_is_taken_back_is_said(
    page: Any, client: Client
) -> None:
    sentence(page, 1)
    keys(page, "1", refuses="a word cannot be its own head")
    for text in ("0", "4", "abc", "1.5"):
        page.locator("#number").fill(text)
        page.locator("#number").press("Enter")
        refuses(page, f"There is no sentence {text}: they are numbered from 1 to 3.")
        expect(page.locator("#number")).to_have_value("1")
    keys(page, "0", at=1, says="1 The, DET, root of the sentence")
    says(page, "arcs follow: 5, 6.")
    expect(page.locator("#arcs .arc.moved")).to_have_count(2)
    keys(page, "ArrowRight", then=2)
    expect(page.locator("#arcs .arc.moved")).to_have_count(0)
    sentence(page, 2)
    keys(
        page,
        "a",
        says="Sentence 2 is done. 2 arcs were doubtful when you confirmed; u takes it back.",
    )
    for what in ("2: Sentence is right.", "1: the head of 1 The."):
        keys(page, "u", says=f"Taken back, in sentence {what}")
    expect(page.locator("#heading")).to_contain_text("Sentence 1 ")
    expect(word(page, 1)).to_have_attribute("aria-selected", "true")
    keys(page, "End", "r", says="Made again, in sentence 1: the head of 1 The.")
    expect(word(page, 1)).to_have_attribute("aria-selected", "true")


def test_notes_flags_place_order_and_view_are_kept_and_found_again(page: Any) -> None:
    sentence(page, 3)
    keys(page, "o", "'really a verb?", "Enter", at=2)
    expect(word(page, 2)).to_have_attribute("aria-label", re.compile("note: really a verb"))
    page.locator("#note-sentence").click()
    page.keyboard.type("ask Mary")
    word(page, 1).click()
    expect(page.locator("#note")).to_have_text("✎ ask Mary")
    keys(page, "q")
    expect(page.locator("#flag")).to_have_attribute("aria-pressed", "true")
    sentence(page, 1)
    for kind, text in (
        ("note", "verb"),
        ("columns", "deprel=dep"),
        ("columns", "upos=PRON"),
        ("flagged", ""),
    ):
        keys(page, "/")
        page.locator("#kind").select_option(kind)
        page.locator("#wanted").fill(text)
        expect(page.locator("#found button").last).to_contain_text("3 Cats see dogs")
        if kind != "flagged":
            keys(page, "Escape")
    page.locator("#found button").click()
    expect(page.locator("#heading")).to_contain_text("Sentence 3")
    word(page, 4).click()
    page.locator("#order").select_option("document")
    page.locator("#view").select_option("down")
    page.reload()
    expect(page.locator("#heading")).to_contain_text("Sentence 3")
    expect(word(page, 4)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#order")).to_have_value("document")
    expect(page.locator("#words")).to_have_attribute("aria-orientation", "vertical")
    page.evaluate("location.hash = '#s=1&w=2'")
    expect(page.locator("#heading")).to_contain_text("Sentence 2")
    expect(word(page, 2)).to_have_attribute("aria-selected", "true")


def test_arcs_that_no_tree_can_have_are_open_with_the_reason_and_a_translation_keeps_its_name(
    tmp_path: Path, tab: Callable[..., Any]
) -> None:
    arcs = enumerate((3, 3, 0, 6, 6, 0, 3), 1)
    rows = "".join(
        f"{k}\tw{k}\tw\tNOUN\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_\n" for k, head in arcs
    )
    text = f"# sent_id = s\n# text_cy = Mae hi oer.\n{rows}\n"
    path = written(tmp_path / "a.conllu", text)
    with served(path, "--given", "right") as address:
        page = tab(address)
        box = page.locator("#problem-box")
        expect(box).to_contain_text("2 errors, tree in the file:")
        expect(box.get_by_role("button", name="6 w6: 2 roots: words 3, 6")).to_be_visible()
        keys(page, "'0", "Enter", at=3)
        expect(box).to_contain_text("1 error, tree in the file:")
        keys(page, "'3", "Enter", at=6)
        expect(box).not_to_contain_text("tree in the file")
        page.locator("#comment").click()
        expect(page.locator("input:focus")).to_have_value("text_cy = Mae hi oer.")
        assert heads(Client(address), 0) == [3, 3, 0, 6, 6, 3, 3]


def test_words_are_searched_by_columns_gone_through_and_changed_all_at_once(
    page: Any, client: Client
) -> None:
    keys(page, "/")
    page.locator("#kind").select_option("columns")
    said = page.locator("#found-count")
    expect(said).to_contain_text("Such as: upos=NOUN")
    page.locator("#wanted").fill("pos=NOUN")
    expect(said).to_contain_text("'pos' is no column (there are: id, form,")
    expect(page.locator("#all")).to_be_hidden()
    page.locator("#wanted").fill("upos=NOUN lemma!=cat")
    expect(said).to_have_text("3 words")
    expect(page.locator("#found button")).to_have_text(
        [
            "1 The dogs don't bark. (2 dogs)",
            "2 Dogs bark (1 Dogs)",
            "3 Cats see dogs , they say (3 dogs)",
        ]
    )
    keys(page, "Enter", "Enter")
    expect(page.locator("#hit")).to_have_text("1 of 3 found")
    expect(word(page, 2)).to_have_attribute("aria-selected", "true")
    for key, number, place, hit in (("+", 2, 1, 2), ("+", 3, 3, 3), ("+", 1, 2, 1), ("-", 3, 3, 3)):
        keys(page, key)
        expect(page.locator("#heading")).to_contain_text(f"Sentence {number} ")
        expect(word(page, place)).to_have_attribute("aria-selected", "true")
        expect(page.locator("#hit")).to_have_text(f"{hit} of 3 found")
    page.locator("#hit-next").click()
    expect(page.locator("#heading")).to_contain_text("Sentence 1 ")
    keys(page, "/")
    expect(said).to_have_text("3 words")
    page.locator("#all-what").select_option("label")
    page.locator("#all-value").fill("agent")
    client.change(1, "note", 1, "meanwhile")
    page.locator("#all-change").click()
    expect(said).to_contain_text("no relation of UD or of this file")
    page.locator("#all-change").click()
    expect(said).to_contain_text("Other words are found by now")
    page.locator("#wanted").fill("upos=NOUN lemma=dog")
    expect(said).to_have_text("3 words")
    page.locator("#all-change").click()
    says(page, "Changed in 3 sentences. u takes all of it back.")
    expect(page.locator("#relation")).to_have_text("agent")
    assert [
        client.get(f"sentence/{k}")["words"][w - 1]["label"] for k, w in ((0, 2), (1, 1), (2, 3))
    ] == ["agent"] * 3
    keys(page, "u", says="Taken back, in sentence 1: the change of all found, also of 2 dogs.")
    assert client.get("sentence/2")["words"][2]["label"] == "dep"


def test_keys_work_from_the_first_moment_and_after_every_click_but_not_in_fields(
    page: Any, client: Client
) -> None:
    expect(page.locator("#advice")).to_be_visible()
    keys(page, "Home", "4", says="1 The, DET, head 4 n't")
    page.locator("#undo").click()
    says(page, "Taken back")
    keys(page, "5", says="1 The, DET, head 5 bark")
    page.locator("#number").press("a")
    page.locator("#find").click()
    keys(page, "'5ax", "Escape")
    assert client.get("sentence/0")["edits"] == 3
    page.locator("#help summary").click()
    page.locator("#keys-on").uncheck()
    page.locator("#undo").focus()
    keys(page, "x", "3")
    page.wait_for_timeout(200)
    assert client.get("sentence/0")["edits"] == 3
    keys(page, "3", at=2, says="2 dogs, NOUN, head 3 do")


def test_one_key_sets_a_relation(page: Any, client: Client) -> None:
    # all hang from words with these tags
    for word_, label in ((1, "nsubj"), (2, "obj"), (3, "obl")):
        client.change(2, "label", word_, label)
    page.goto(f"{client.address}#s=2&w=1")
    page.reload()
    expect(page.locator("#heading")).to_contain_text("Sentence 3")
    label = page.locator("#relation")
    expect(label).to_have_text("nsubj")
    keys(page, "Shift+O")
    expect(label).to_have_text("obl")  # confirmed as often as obj, but more frequent in UD
    keys(page, "Shift+O")
    expect(label).to_have_text("obj")
    keys(page, "l")
    expect(page.locator("#choice-list kbd")).to_have_count(9)
    offered = page.locator("#choice-list .value").all_inner_texts()
    keys(page, "2")
    expect(label).to_have_text(offered[1])
    keys(page, ".")
    expect(label).to_have_text(offered[2])
    keys(page, ",")
    expect(label).to_have_text(offered[1])
    wait_for(lambda: client.get("sentence/2")["words"][0]["label"] == offered[1])
    page.wait_for_timeout(300)
    page.locator("#arcs .arc[data-place='1'] text").click()
    page.locator("#choice-list li").nth(4).click()
    expect(word(page, 1)).to_be_focused()
    keys(page, "l", "'n:po", "Enter")
    expect(label).to_have_text("nmod:poss")
    # of what it is now: nobody has used it
    keys(page, "l", "':own", "Enter", refuses="Enter once more stores it")
    keys(page, "Enter")
    expect(label).to_have_text("nmod:own")
    wait_for(lambda: client.get("sentence/2")["words"][0]["label"] != offered[1])


def opened_without(page: Any, pattern: str, address: str) -> list[Any]:
    """Opens an address, and holds back the first request of a kind; returns that."""
    held: list[Any] = []
    page.goto("about:blank")
    page.route(pattern, lambda route: route.continue_() if held else held.append(route))
    with page.expect_response("**/held.js"):
        page.goto(address, wait_until="commit")
    wait_for(lambda: bool(held), page)
    page.wait_for_timeout(300)
    return held


@pytest.mark.parametrize("missing", ["**/sentence/**", "**/store.js"])
def test_keys_pressed_before_the_sentence_or_the_page_has_come_are_given_in_their_order(
    page: Any, client: Client, missing: str
) -> None:
    held = opened_without(page, missing, f"{client.address}#s=2&w=1")
    for key in (
        *"lacl",
        "Enter",
        "ArrowRight",
        "6",
        "Enter",
        "o",
        *"why a",
        "Backspace",
        "?",
        "Enter",
    ):
        page.keyboard.press(key)
    held[0].continue_()
    wait_for(lambda: bool(client.get("sentence/2")["words"][1]["note"]), page)
    found = client.get("sentence/2")
    assert [one["label"] for one in found["words"][:1]] == ["acl"]
    assert [one["head"] for one in found["words"][:2]] == [2, 6]
    assert found["words"][1]["note"] == "why ?"
    assert (found["edits"], found["done"]) == (3, False)  # Enter has confirmed nothing
    expect(page.locator("#notice")).to_have_text("The note is stored.")


@pytest.mark.parametrize("key", ["a", "Space"])
def test_keys_that_confirm_do_nothing_before_the_sentence_has_come(
    page: Any, client: Client, key: str
) -> None:
    held = opened_without(page, "**/sentence/**", f"{client.address}#s=2&w=1")
    # after 6 alone, Enter would confirm nothing
    for one in ("6", "Home", key, "ArrowRight", "3", "n"):
        page.keyboard.press(one)
    held[0].continue_()
    name = "The space bar" if key == "Space" else key
    message = f"{name} was pressed before this sentence was shown, and confirms nothing."
    refuses(page, message)
    refuses(page, "The keys after it are not used either.")
    wait_for(lambda: client.get("sentence/2")["edits"] == 1)
    page.wait_for_timeout(200)
    found = client.get("sentence/2")
    assert (found["edits"], found["words"][0]["head"], found["done"]) == (1, 6, False)
    expect(page.locator("#heading")).to_contain_text("Sentence 3")


def test_keys_wait_for_the_next_sentence_and_are_dropped_if_none_comes(
    page: Any, client: Client
) -> None:
    page.locator("#order").select_option("document")
    sentence(page, 1)
    held: list[Any] = []
    page.route("**/next?*", lambda route: held.append(route))
    for key in ("a", "2", "Enter", "a"):  # the second `a` is about a sentence that nobody has seen
        page.keyboard.press(key)
    wait_for(lambda: bool(held), page)
    held[0].continue_()
    refuses(page, "a was pressed before this sentence was shown")
    expect(page.locator("#heading")).to_contain_text("Sentence 2 ")
    wait_for(lambda: client.get("sentence/1")["edits"] == 1)
    assert client.get("sentence/0")["done"]
    assert client.get("sentence/1")["words"][0]["head"] == 2
    client.change(2, "done")
    for key in ("n", "0"):
        page.keyboard.press(key)
    wait_for(lambda: len(held) == 2, page)
    page.locator("#relate").click()  # a list that would be closed while one types
    says(page, "Another sentence is coming")
    expect(page.locator("#choice")).to_be_hidden()
    held[1].continue_()
    message = "No other sentence is left to do. The keys pressed since then are not used."
    expect(page.locator("#notice.bad")).to_have_text(message)
    assert client.get("sentence/1")["edits"] == 1


def press_as(page: Any, *pressed: str, shift: bool = False) -> None:
    """Presses keys as a layout of another script sends them: what a key types, a blank, its place."""
    session = page.context.new_cdp_session(page)
    for one in pressed:
        key, _, code = one.partition(" ")
        event = {"key": key, "code": code, "modifiers": 8 if shift else 0}
        session.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": key, **event})
        session.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})
    session.detach()


def test_a_sentence_is_annotated_under_a_cyrillic_layout(page: Any, client: Client) -> None:
    def first() -> Any:
        return client.get("sentence/0")["words"][0]

    keys(page, "Home")
    press_as(page, "е KeyT")
    expect(page.locator("#choice-list li")).to_have_count(17)
    press_as(page, "т KeyN")
    wait_for(lambda: first()["upos"] == "NOUN")
    keys(page, "5", says="1 The, NOUN, head 5 bark")
    press_as(page, "Щ KeyO", shift=True)
    wait_for(lambda: first()["label"].startswith("ob"))
    label = first()["label"]
    press_as(page, "ю Period")
    wait_for(lambda: first()["label"] != label)
    press_as(page, "д KeyL")
    offered = page.locator("#choice-list .value").nth(2)
    expect(offered).to_be_visible()
    third = offered.inner_text()
    keys(page, "3")
    wait_for(lambda: first()["label"] == third)
    # typed: these letters, and no key of the page
    press_as(page, "ь KeyM", "д KeyL", "٣ Digit3", "ф KeyA")
    expect(page.locator("#choice-input")).to_have_value("д٣ф")
    keys(page, "Enter")
    wait_for(lambda: first()["lemma"] == "д٣ф")
    press_as(page, "п KeyG", "٣ Digit3")
    expect(word(page, 3)).to_be_focused()
    press_as(page, "٥ Digit5")
    wait_for(lambda: heads(client, 0)[2] == 5)
    press_as(page, "ф KeyA")
    wait_for(lambda: client.get("sentence/0")["done"])
    expect(page.locator("#heading")).to_contain_text("Sentence 2 ")
    press_as(page, "г KeyU")
    says(page, "Taken back, in sentence 1")


def test_held_keys_of_another_layout_are_given_as_they_were_pressed(
    page: Any, client: Client
) -> None:
    held = opened_without(page, "**/sentence/**", f"{client.address}#s=2&w=1")
    press_as(page, "щ KeyO", "п KeyG", "ل KeyG")
    keys(page, "Enter")
    press_as(page, "в KeyD", "٦ Digit6")
    held[0].continue_()
    wait_for(lambda: client.get("sentence/2")["edits"] == 2, page)
    found = client.get("sentence/2")["words"]
    assert [one["note"] for one in found if one["note"]] == ["пل"]
    assert [one["head"] for one in found].count(6) == 2  # of the next doubtful word, and as guessed


def test_letters_of_digit_keys_are_typed_where_a_text_is_asked_for(
    page: Any, client: Client
) -> None:
    keys(page, "m", at=1)  # a lemma that is proposed has the number 1
    expect(page.locator("#choice-input")).to_have_value("the")
    press_as(page, "ә Digit2", "і Digit3")
    expect(page.locator("#choice-input")).to_have_value("әі")
    keys(page, "Enter")
    wait_for(lambda: client.get("sentence/0")["words"][0]["lemma"] == "әі")


@pytest.mark.parametrize(
    "ending", [{"isComposing": True}, {"keyCode": 229}], ids=["while it composes", "after it"]
)
def test_enter_that_ends_a_composition_stores_and_closes_nothing(
    page: Any, client: Client, ending: Any
) -> None:
    def enter(**changes: Any) -> None:
        make = "new KeyboardEvent('keydown', { key: 'Enter', code: 'Enter', bubbles: true, cancelable: true, ...o })"
        page.evaluate(f"o => document.activeElement.dispatchEvent({make})", changes)

    for key in ("m", "o", "l", "f"):
        keys(page, key, "'x", at=1)
        enter(**ending)
        expect(page.locator("#choice")).to_be_visible()
        expect(page.locator("#choice-input")).to_have_value("x")
        keys(page, "Escape")
    keys(page, "Home")
    enter(**ending)
    keys(page, "/", "'dogs")
    expect(page.locator("#found button").first).to_be_visible()
    enter(**ending)
    expect(page.locator("#wanted")).to_be_focused()
    keys(page, "Escape")
    assert client.get("sentence/0")["edits"] == 0
    keys(page, "m", "'x", at=1)
    enter()
    wait_for(lambda: client.get("sentence/0")["words"][0]["lemma"] == "x")


def test_keys_are_those_of_the_words_again_after_enter_or_escape_in_a_field_and_after_a_choice(
    page: Any,
) -> None:
    for leave, number in (("Enter", 3), ("Escape", 3), ("Enter", 3)):
        page.locator("#number").click()
        if leave == "Enter":
            page.locator("#number").fill(str(number))
        else:
            keys(page, "'9")
        keys(page, leave)
        expect(page.locator("#number")).to_have_value(str(number))
        expect(page.locator("#words li[aria-selected='true']")).to_be_focused()
        expect(page.locator("#heading")).to_contain_text(f"Sentence {number} ")
        expect(page.locator("#notice")).to_have_text("")
    keys(page, "q")
    expect(page.locator("#flag")).to_have_attribute("aria-pressed", "true")
    for field, choice in (("#order", "document"), ("#view", "down")):
        page.locator(field).select_option(choice)
        expect(page.locator("#words li[aria-selected='true']")).to_be_focused()
        page.locator(field).focus()
        keys(page, "Escape")
        expect(page.locator("#words li[aria-selected='true']")).to_be_focused()
    page.locator("#view").focus()
    keys(page, "ArrowUp")  # a step on the way to another choice
    expect(page.locator("#view")).to_be_focused()


def test_tags_features_and_lemmas_are_set_by_keys(page: Any, client: Client) -> None:
    keys(page, "Home", "t")
    expect(page.locator("#choice-list li")).to_have_count(17)
    keys(page, "o")
    expect(word(page, 1).locator(".tag")).to_have_text("PRON")
    keys(page, "f", "'numb")
    expect(page.locator("#choice-list .value").first).to_contain_text("Number=")
    keys(page, "'er=Plur", "Enter")
    wait_for(lambda: client.get("sentence/0")["words"][0]["feats"] == "Definite=Def|Number=Plur")
    expect(page.locator("#word-facts")).to_contain_text("Number=Plur")
    keys(page, "f", "'Plural", "Enter", refuses="'Plural' is no feature")
    keys(page, "Escape", "m")
    expect(page.locator("#choice-input")).to_have_value("the")
    keys(page, "'THE", "Enter")
    wait_for(lambda: client.get("sentence/0")["words"][0]["lemma"] == "THE")
    first = client.get("sentence/0")["words"][0]
    assert (first["tag"], first["tag_by"], first["lemma_by"]) == ("PRON", "anna", "anna")
    keys(page, "m", "'the", "ArrowRight")  # takes it, and goes on
    wait_for(lambda: client.get("sentence/0")["words"][0]["lemma"] == "the")
    expect(word(page, 2)).to_have_attribute("aria-selected", "true")
    # a new part takes the place of the last one; the lemma is next
    keys(page, "y", "'Nn", "Enter", "y", "'x", "Tab")
    keys(page, "'odd", "Tab", "'abl", "Tab")  # features, of the next word, and then its XPOS
    wait_for(lambda: "Case=Abl" in client.get("sentence/0")["words"][2]["feats"])
    expect(page.locator("#choice-title")).to_contain_text("XPOS of 3 ")
    found = client.get("sentence/0")["words"]
    assert (found[1]["xpos"], found[1]["lemma"]) == ("Nx", "odd")
    # no key is lost, however fast they come
    keys(page, "Escape", "Home", "f", "'dat", "Tab", "Tab", "'qq")
    expect(page.locator("#choice-title")).to_have_text("Lemma of 1 The")
    expect(page.locator("#choice-input")).to_have_value("qq")
    keys(page, "Escape", *"uuuuuuuuu")
    expect(word(page, 1).locator(".tag")).to_have_text("DET")


def test_what_nobody_has_used_is_held_back_once_and_a_given_relation_shows(
    page: Any, client: Client
) -> None:
    keys(page, "Home", "l", "'nsbuj", "Enter")
    message = (
        "'nsbuj' is no relation of UD or of this file; did you mean 'nsubj'? Enter once more stores"
    )
    for place in ("#notice.bad", "#choice-hint"):
        expect(page.locator(place)).to_contain_text(message)
    page.locator("#choice-input").fill("nmod:foo")
    keys(page, "Enter")
    expect(page.locator("#choice-hint")).to_contain_text(
        "'nmod:foo' is a subtype of nmod that this file"
    )
    assert client.get("sentence/0")["edits"] == 0
    keys(page, "Enter")
    expect(page.locator("#arcs .arc[data-place='1'] text")).to_have_text(re.compile("nmod:foo ✓$"))
    expect(word(page, 1)).to_have_attribute(
        "aria-label", re.compile("nmod:foo, relation confirmed")
    )
    for name, value in (
        ("Casus=Gen", "Casus=Gen|Definite=Def"),
        ("Number=Dul", None),
        ("Case=Gen", ""),
    ):
        keys(page, "f")
        page.keyboard.type(name)
        keys(page, "Enter")
        if value != "":
            expect(page.locator("#choice-hint")).to_contain_text(
                f"'{name}' is no feature of UD or of"
            )
            page.keyboard.press("Enter" if value else "Escape")
        expect(page.locator("#choice")).to_be_hidden()
    wait_for(
        lambda: client.get("sentence/0")["words"][0]["feats"] == "Case=Gen|Casus=Gen|Definite=Def"
    )
    # the page may be behind the program
    expect(page.locator("#word-facts")).to_contain_text("Case=Gen")
    keys(page, "f")
    page.keyboard.type("Case=")  # which could also begin Case=Abe
    keys(page, "Enter")
    wait_for(lambda: client.get("sentence/0")["words"][0]["feats"] == "Casus=Gen|Definite=Def")


@pytest.mark.parametrize("relation", ["comp:obj@x", "comp:aux@pass", "mod@relcl", "nmod:foo@x"])
def test_a_relation_that_is_written_in_full_is_stored_as_it_is_written(
    tmp_path: Path, tab: Callable[..., Any], relation: str
) -> None:
    listed = written(tmp_path / "sud.labels", "comp:aux\ncomp:obj\ncompound\nmod\nsubj\nroot\n")
    for options in ((), ("--labels", listed)):
        path = written(tmp_path / f"{len(options)}.conllu")
        with served(path, *options, learn=True) as address:
            page = tab(address)
            sentence(page, 1)
            # until there is a tree
            expect(page.locator("#relation")).not_to_have_text("–", timeout=60_000)
            keys(page, "l", f"'{relation}", "Enter", at=1, refuses=f"'{relation}' is ")
            expect(page.locator("#choice-input")).to_have_value(relation)
            keys(page, "Enter")
            expect(page.locator("#relation")).to_have_text(relation)
            expect(page.locator("#arcs .arc[data-place='1'] text")).to_contain_text("✓")
            found = Client(address).get("sentence/0")["words"][0]
            assert (found["label"], found["label_by"]) == (relation, "anna")


def test_features_and_xpos_that_are_written_in_full_are_stored_as_they_are_written(
    page: Any, client: Client
) -> None:
    for place, feats in ((2, "Gender=Masc,Neut"), (5, "Number[psor]=Sing")):
        client.change(0, "feats", place, feats)
    client.change(0, "xpos", 2, "NNS")
    client.change(0, "xpos", 5, "VB")
    for key, what, value in (
        ("f", "feats", "Gender=Masc"),
        ("y", "xpos", "JJ"),
        ("f", "feats", "Number=Sing"),
    ):
        client.change(1, what, 1, "_")
        page.reload()
        expect(word(page, 1)).to_be_visible()
        sentence(page, 2)
        for says_ in ("1 Dogs", "It is so already"):
            keys(page, key, f"'{value}", "Enter", at=1, says=says_)
            expect(page.locator("#choice")).to_be_hidden()
            assert client.get("sentence/1")["words"][0][what] == value


def test_words_and_sentences_are_split_and_joined(page: Any, client: Client) -> None:

    def forms() -> list[str]:
        return [one["form"] for one in client.get("sentence/0")["words"]]

    expect(word(page, 3).locator(".range")).to_have_text("don't")
    expect(page.locator("#empty")).to_have_text("Empty nodes: 4.1 loudly ADV after word 4")
    first = forms()
    keys(page, "s", at=2)
    expect(page.locator("#choice-input")).to_have_value("dogs")
    page.locator("#choice-input").fill("dog s")
    keys(page, "Enter")
    expect(page.locator("#words li")).to_have_count(7)
    assert forms() == ["The", "dog", "s", *first[2:]]
    sentence(page, 2)
    for press, count in (("s", 2), ("1", 3), ("u", 2)):  # Dogs is split as dogs was
        keys(page, press)
        expect(page.locator("#words li")).to_have_count(count)
    sentence(page, 1)
    keys(page, "j", at=2)
    expect(page.locator("#words li")).to_have_count(6)
    page.locator("#more summary").click()
    page.locator("#range").click()
    page.locator("#choice-input").fill("1-2 Thedogs")
    keys(page, "Enter")
    expect(word(page, 1).locator(".range")).to_have_text("Thedogs")
    word(page, 5).click()
    page.locator("#cut").click()
    says(page, "the rest is the next one")
    expect(page.locator("#words li")).to_have_count(4)
    expect(page.locator("#of")).to_have_text("of 4")
    page.locator("#number").fill("2")
    page.locator("#number").press("Enter")
    expect(word(page, 1).locator(".form")).to_have_text("bark")
    page.locator("#number").fill("1")
    page.locator("#number").press("Enter")
    expect(page.locator("#words li")).to_have_count(4)
    page.locator("#glue").click()
    expect(page.locator("#words li")).to_have_count(6)
    for _ in range(5):
        page.locator("#undo").click()
    expect(word(page, 1).locator(".range")).to_have_count(0)
    wait_for(lambda: forms() == first)


LEAVING: list[tuple[str, Callable[[Any], None]]] = [
    ("the button for the sentence", lambda page: page.locator("#done").click()),
    ("another word", lambda page: word(page, 3).click()),
    ("Tab", lambda page: keys(page, "Tab")),
]


@pytest.mark.parametrize(("how", "leave"), LEAVING, ids=[how for how, _ in LEAVING])
def test_a_typed_relation_is_stored_or_refused_however_the_field_is_left(
    page: Any, client: Client, how: str, leave: Callable[[Any], None]
) -> None:
    sentence(page, 1)
    keys(page, "l")
    page.locator("#choice-input").fill("zzz")
    leave(page)
    refuses(
        page,
        "'zzz' is no relation of UD or of this file. Enter once more stores it; Esc takes it back.",
    )
    expect(page.locator("#choice-input")).to_have_value("zzz")
    expect(page.locator("#word-heading")).to_have_text("Word 1: The")
    expect(page.locator("#heading")).to_contain_text("Sentence 1 ")
    found = client.get("sentence/0")
    assert (found["done"], found["edits"]) == (False, 0)
    page.locator("#choice-input").fill("det")
    leave(page)
    expect(page.locator("#notice")).not_to_have_class("bad")
    wait_for(lambda: client.get("sentence/0")["words"][0]["label_by"] == "anna")
    assert client.get("sentence/0")["words"][0]["label"] == "det"
    if how == "the button for the sentence":
        wait_for(lambda: client.get("sentence/0")["done"])


def wait_for(condition: Callable[[], bool], page: Any = None) -> None:
    """Waits for at most a minute; with a page, its requests are handled meanwhile."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        if page is None:
            time.sleep(0.05)
        else:
            page.wait_for_timeout(50)


def test_a_key_confirms_only_what_was_on_the_screen_when_it_was_pressed(
    page: Any, client: Client
) -> None:
    sentence(page, 1)
    held: list[Any] = []
    page.route("**/change", lambda route: route.continue_() if held else held.append(route))

    def is_sent() -> bool:  # unless a lesson has just changed the tree
        keys(page, "4")
        page.wait_for_timeout(1000)
        return bool(held)

    wait_for(is_sent)
    keys(page, "a")  # before the answer to the other key, another tree
    held[0].continue_()
    refuses(page, "The tree has changed since you said so")
    found = client.get("sentence/0")
    assert (found["done"], found["edits"]) == (False, 1)

    def is_done_by_another_key() -> bool:  # a lesson may change the tree between two keys, too
        keys(page, "a")
        page.wait_for_timeout(100)
        return bool(client.get("sentence/0")["done"])

    wait_for(is_done_by_another_key)


def test_reload_kill_and_restart_lose_nothing(path: Path, tab: Callable[..., Any]) -> None:
    running, address = start(path)
    page = tab(address)
    sentence(page, 1)
    keys(page, "4", says="head 4")
    page.reload()
    expect(page.locator("#undo")).to_be_enabled()
    expect(word(page, 2)).to_be_visible()
    running.send_signal(signal.SIGKILL)
    running.wait(60)
    assert running.stdout is not None
    running.stdout.close()
    expect(page.locator("#fault")).to_contain_text("The program does not answer")
    keys(page, "5", at=2, refuses="this was not saved")
    with served(path) as address:
        page = tab(address)
        sentence(page, 1)
        assert heads(Client(address), 0)[0] == 4
        expect(page.locator("#arcs .arc[data-place='1'] text")).to_have_text("✓ dep?")


def test_a_tab_of_an_earlier_start_says_where_the_program_is(
    path: Path, tab: Callable[..., Any]
) -> None:
    running, address = start(path)
    page = tab(address)
    running.terminate()
    running.wait(60)
    assert running.stdout is not None
    running.stdout.close()
    expect(page.locator("#fault")).to_contain_text(
        "If it was started again, open the address that it printed"
    )
    expect(page.locator("#fault")).not_to_contain_text("Is it still running?")
    with served(path, str(Client(address).port)) as later:  # at the same port, with another token
        assert Client(later).port == Client(address).port
        expect(page.locator("#fault")).to_contain_text(
            "This page is of an earlier start of the program"
        )
        keys(
            page,
            "5",
            at=2,
            refuses="Please open the address that it printed in the terminal. Note: this was not saved.",
        )
        assert Client(later).get("sentence/0")["edits"] == 0


def test_two_tabs_do_not_overwrite_each_other(path: Path, tab: Callable[..., Any]) -> None:
    with served(path) as address:
        one, two = tab(address), tab(address)
        two.route("**/state*", lambda route: route.abort())  # this tab hears nothing from now on
        sentence(one, 1)
        sentence(two, 1)
        one.keyboard.press("4")
        expect(one.locator("#notice")).to_contain_text("head 4")
        two.keyboard.press("5")
        expect(two.locator("#notice.bad")).to_contain_text("has been changed elsewhere")
        expect(two.locator("#head")).to_have_text(re.compile("^4 "))
        assert heads(Client(address), 0)[0] == 4
        two.keyboard.press("5")
        expect(two.locator("#notice")).to_contain_text("head 5")
        expect(one.locator("#head")).to_have_text(re.compile("^5 "))


def test_scripts_from_right_to_left_and_combining_marks(
    tmp_path: Path, tab: Callable[..., Any]
) -> None:
    with served(written(tmp_path / "a.conllu", SCRIPTS)) as address:
        page = tab(address)
        sentence(page, 1)
        expect(page.locator("#stage")).to_have_attribute("dir", "rtl")
        places = [word(page, n).bounding_box()["x"] for n in (1, 2, 3, 4)]
        assert places == sorted(places, reverse=True)
        keys(page, "ArrowLeft", then=2)
        picture(page, "annotate-rtl")
        sentence(page, 2)
        expect(page.locator("#stage")).to_have_attribute("dir", "ltr")
        expect(word(page, 2).locator(".form")).to_have_text("g̈ȩ̇")
        expect(word(page, 3)).to_have_attribute(
            "aria-label", re.compile("漢字, NOUN, root of the sentence")
        )
        title = page.title()
        sentence(page, 3)
        expect(word(page, 1).locator(".form")).to_have_text("<img/src=x/onerror=document.title=1>")
        expect(word(page, 2).locator(".form")).to_contain_text("\"'&lt;")
        assert page.locator("img").count() == 0
        assert page.title() == title


def test_nothing_jumps_when_words_are_found_and_no_buttons_touch(page: Any) -> None:
    sentence(page, 1)
    before = word(page, 1).bounding_box()
    keys(page, "/", "'dogs", "Enter")
    page.locator("#found button").first.click()
    expect(page.locator("#hit")).to_have_text("1 of 3 found")
    while (after := word(page, 1).bounding_box()) is None:  # the panel is being drawn anew
        page.wait_for_timeout(10)
    assert after == before
    page.locator("#more summary").click()
    # Looked at in one go: the panel may be drawn anew at any moment, and is then another element.
    page.wait_for_function(
        """() => {
            const boxes = [...document.querySelectorAll("#further button")].map(
                (button) => button.getBoundingClientRect());
            return boxes.length === 2 && boxes.every((box) => box.width > 0)
                && (boxes[0].right + 8 <= boxes[1].left || boxes[0].bottom + 8 <= boxes[1].top);
        }"""
    )


def test_a_hint_of_the_search_is_shown(page: Any) -> None:
    hint = "no word has upos noun; did you mean NOUN?"
    answer = {"found": [], "places": [], "seen": 0, "hint": hint}
    page.route("**/find?*", lambda route: route.fulfill(json=answer))
    keys(page, "/")
    page.locator("#kind").select_option("columns")
    page.locator("#wanted").fill("upos=noun")
    expect(page.locator("#found-count")).to_have_text(f"0 words: {hint}")


def test_the_server_says_why_no_word_is_found(page: Any) -> None:
    """Its own answers: with a hint, without one, and without any need of one."""
    keys(page, "/")
    page.locator("#kind").select_option("columns")
    for query, answer in (
        ("upos=noun", re.compile("^0 words: no word has upos=noun; NOUN has [0-9]+$")),
        ("upos=NOUN lemma=nowhere", "0 words: no word has lemma=nowhere"),
        ("upos=NOUN lemma=bark", "0 words"),
        ("upos=NOUN", re.compile("^[0-9]+ words$")),
    ):
        page.locator("#wanted").fill(query)
        expect(page.locator("#found-count")).to_have_text(answer)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(400, "dark"), (1280, "light")],
)
def test_long_sentences_at_all_widths_without_serious_faults(
    tmp_path: Path, tab: Callable[..., Any], width: int, scheme: str
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    long = (
        "".join(f"{n}\tword{n}\t_\tNOUN\t_\tCase=Nom\t_\t_\t_\t_\n" for n in range(1, 101)) + "\n"
    )
    with served(written(tmp_path / "a.conllu", long + ROWS)) as address:
        page = tab(address, width, color_scheme=scheme)
        for number in (1, 2):
            sentence(page, number)
            page.keyboard.press("2" if number == 2 else "3")
            keys(page, "Enter")
            shown = page.evaluate("document.documentElement.scrollWidth")
            assert shown <= width
            assert opened_faults(axe, page) == []
        # over the shorter sentence: axe takes its time for each word
        assert popup_faults(axe, page) == []
        keys(page, "End", at=2)
        box = word(page, 6).bounding_box()
        assert 0 <= box["x"] <= width
        picture(page, f"annotate-{width}-{scheme}")


def opened_faults(axe: Any, page: Any) -> list[str]:
    """Serious faults by axe, with all that can be unfolded open."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = in_page(axe, page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    return found


def popup_faults(axe: Any, page: Any) -> list[str]:
    """Serious faults by axe, with the list of relations, then with the search open."""
    keys(page, "l", at=2)
    expect(page.locator("#choice-list li").first).to_be_visible()
    found = in_page(axe, page)
    keys(page, "Escape")
    page.locator("#find").click()
    expect(page.locator("#found button").first).to_be_visible()
    found += in_page(axe, page)
    page.locator("#close").click()
    return found


def in_page(axe: Any, page: Any) -> list[str]:
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    violations = axe.Axe().run(page, options=options).response["violations"]
    return [f"{v['id']}: {[n['html'] for n in v['nodes']][:2]}" for v in violations]


def picture(page: Any, name: str, settled_ms: int = 0) -> None:
    """Keeps a picture of the page once it has settled, if pictures are wanted."""
    if PICTURES:
        page.wait_for_timeout(settled_ms)
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def confirm(path: Path, count: int) -> str:
    """The text of a file whose first sentences are confirmed, and whose others have no trees."""
    from dynet_vdgi.page.text.sentence_blocks import block, read_marked

    blocks = []
    for number, marked in enumerate(read_marked(path)):
        if number < count:
            marked.arcs = tuple(
                arc._replace(head_by="anna", label_by="anna") for arc in marked.arcs
            )
            blocks.append(block(marked))
        else:
            blocks.append(
                re.sub(r"(?m)^((?:[^\t\n]*\t){6})[^\t]*\t[^\t]*", r"\1_\t_", block(marked))
            )
    return "".join(blocks)


TAMIL = "திரு. குமார் வந்தார். அவனும் பார்த்தான் மழை பெய்தது.\n"

"""Mr Kumar came. He saw, too -- it rained.  The first full stop ends no sentence, and one is
missing."""

TAMIL_TREES = [
    [
        ("திரு.", "NOUN", 2, "nmod"),
        ("குமார்", "PROPN", 3, "nsubj"),
        ("வந்தார்", "VERB", 0, "root"),
        (".", "PUNCT", 3, "punct"),
    ],
    [("அவன்", "PRON", 3, "nsubj"), ("உம்", "PART", 1, "advmod"), ("பார்த்தான்", "VERB", 0, "root")],
    [("மழை", "NOUN", 2, "nsubj"), ("பெய்தது", "VERB", 0, "root"), (".", "PUNCT", 2, "punct")],
]

"""Forms, tags, heads, relations."""

KEY_OF_TAG = {"NOUN": "n", "PROPN": "e", "VERB": "v", "PRON": "o", "PART": "t"}


@pytest.mark.timeout(600)
def test_plain_text_becomes_a_valid_treebank_in_the_page(
    tmp_path: Path, tab: Callable[..., Any]
) -> None:
    """Sentences cut and joined, words joined, a multiword token, tags, heads, relations, all by
    hand."""
    with served(written(tmp_path / "raw.txt", TAMIL), "--order", "document", learn=True) as address:
        page, client = tab(address), Client(address)
        expect(page.locator("#of")).to_have_text("of 3")
        page.locator("#more summary").click()
        sentence(page, 1)
        page.locator("#glue").click()
        expect(page.locator("#words li")).to_have_count(5)
        keys(page, "j", at=1)
        expect(page.locator("#words li")).to_have_count(4)
        sentence(page, 2)
        word(page, 3).locator(".form").click()
        page.locator("#cut").click()
        expect(page.locator("#words li")).to_have_count(2)
        keys(page, "s", at=1)
        page.locator("#choice-input").fill("அவன் உம்")
        keys(page, "Enter")
        expect(word(page, 1).locator(".range")).to_have_text("அவனும்")
        for number, tree in enumerate(TAMIL_TREES, 1):
            sentence(page, number)
            expect(page.locator("#words li")).to_have_count(len(tree))
            annotate_by_keys(page, client, number, tree)
    out, path = tmp_path / "out.conllu", tmp_path / "raw.conllu"
    assert shell.finished("annotate", path, "--export", out)[0] == 0
    found = list(read(out, heads="required"))
    assert [[*zip(s.forms, s.tags, s.heads or (), s.deprels)] for s in found] == TAMIL_TREES
    text = out.read_text(encoding="utf-8")
    assert "\n1-2\tஅவனும்\t" in text
    assert [line for line in text.splitlines() if line.startswith("# text")] == [
        "# text = திரு. குமார் வந்தார்.",
        "# text = அவனும் பார்த்தான்",
        "# text = மழை பெய்தது.",
    ]
    if udtools.command():
        assert udtools.messages([text], level="2") == []


def annotate_by_keys(
    page: Any, client: Client, number: int, tree: list[tuple[str, str, int, str]]
) -> None:
    """Gives every word of the sentence that is shown its tag, head and relation, and confirms it."""
    own = client.get(f"next?number={number - 1}")["next"]

    def has(place: int, column: str, value: object) -> Callable[[], bool]:
        return lambda: client.get(f"sentence/{own}")["words"][place - 1][column] == value

    for place, (_, tag, _, _) in enumerate(tree, 1):
        if tag in KEY_OF_TAG:
            keys(page, "t", at=place)
            expect(page.locator("#choice-list li")).to_have_count(17)
            page.keyboard.press(KEY_OF_TAG[tag])
            wait_for(has(place, "upos", tag), page)
    for place, (_, tag, head, relation) in enumerate(tree, 1):
        if tag == "PUNCT":
            continue
        word(page, place).locator(".form").click()
        page.keyboard.press(str(head))
        wait_for(has(place, "head_by", "anna"), page)
        if head:
            keys(page, "l")
            page.keyboard.type(relation)
            keys(page, "Enter")
            wait_for(has(place, "label", relation), page)

    def is_done() -> bool:  # a key is refused if the tree has just been parsed again
        if str(number) == page.locator("#number").input_value():
            keys(page, "a")
        page.wait_for_timeout(300)
        return bool(client.get(f"sentence/{own}")["done"])

    wait_for(is_done)


@pytest.mark.timeout(600)
def test_the_tutorial_from_tagged_text_to_corrected_sentences(
    tmp_path: Path, tab: Callable[..., Any]
) -> None:
    """The steps of docs/annotate.md on the demo language; the first sentences by keys, the others
    quickly."""
    n_corrected, n_all, step = (100, 200, 20) if PICTURES else (30, 50, 10)
    blocks = DEMO.read_text("utf-8").split("\n\n")[:n_all]
    some = written(tmp_path / "some.conllu", "\n\n".join([*blocks, ""]))
    gold = list(read(some))
    path = written(tmp_path / "my.conllu", confirm(some, 0))
    with served(path, learn=True) as address:
        page, client = tab(address), Client(address)
        expect(page.locator("#learning")).to_contain_text(
            "without any corrected sentence", timeout=120_000
        )
        expect(page.locator("#arcs .arc").first).to_be_visible()
        picture(page, "annotate-first", 1500)
        keys(page, "l")
        expect(page.locator("#choice-list li").first).to_be_visible()
        picture(page, "annotate-relations", 500)
        keys(page, "Escape")
        for _ in range(3):
            correct_by_keys(page, client, gold)
        expect(page.locator("#sentences-done")).to_have_text(f"3 of {n_all}")
        shares = []
        for done in range(3, n_corrected):
            number = client.get("next?order=choose")["next"]
            shares.append(correct(client, number, gold[number]))
            if done % step == step - 1:
                wait_for_lesson(client, done + 1)
        assert client.get("state")["progress"]["sentences_done"] == n_corrected
        first, last = (statistics.mean(part) for part in (shares[: step - 3], shares[-step:]))
        print(
            f"heads right at first: {first:.0%} of the first {step - 3} sentences, {last:.0%} of the last"
        )
        assert last > first
        page.reload()
        expect(page.locator("#sentences-done")).to_have_text(f"{n_corrected} of {n_all}")
        picture(page, "annotate-hundred", 2500)
        longest = max(range(len(gold)), key=lambda k: len(gold[k]))
        page.locator("#view").select_option("down")
        page.evaluate(f"location.hash = '#s={longest}'")
        expect(page.locator("#words li")).to_have_count(len(gold[longest]))
        picture(page, "annotate-long", 1500)
        picture(tab(address, 390, color_scheme="dark"), "annotate-narrow")
    assert path.read_text(encoding="utf-8").count("HeadBy=anna") > 5 * n_corrected


def correct_by_keys(page: Any, client: Client, gold: list[Sentence]) -> None:
    """Corrects the sentence that is shown, as a person would."""
    number = int(page.locator("#number").input_value()) - 1
    word(page, 1).click()
    while place := first_wrong(client.get(f"sentence/{number}"), gold[number]):
        word(page, place).click()
        head = (gold[number].heads or ())[place - 1]
        for digit in str(head):
            page.keyboard.press(digit)
        if 0 < 10 * head <= len(gold[number]):  # otherwise Enter would confirm the relation, too
            keys(page, "Enter")
        expect(page.locator("#head")).to_have_text(re.compile(rf"^{head} "))
        wait_for(
            lambda p=place, h=head: client.get(f"sentence/{number}")["words"][p - 1]["head"] == h,
            page,
        )
        picture(page, "annotate-corrected", 200)
    shown, notice = page.locator("#number"), page.locator("#notice")
    keys(page, "a")
    wait_for(
        lambda: shown.input_value() != str(number + 1) or "has changed" in notice.inner_text(), page
    )
    if shown.input_value() == str(number + 1):  # a parse came after the head: one looks once more
        keys(page, "a")
        expect(shown).not_to_have_value(str(number + 1))


def correct(client: Client, number: int, gold: Sentence) -> float:
    """Corrects a sentence by requests alone, and looks again where it was parsed meanwhile.

    Returns the share of its heads that did not have to be set.
    """
    n_set = 0
    while True:
        found = client.get(f"sentence/{number}")
        if place := first_wrong(found, gold):
            n_set += 1
            client.change(number, "head", place, (gold.heads or ())[place - 1])
            client.get(f"guess/{number}")
            continue
        order = {
            "sentence": number,
            "edits": found["edits"],
            "version": found["version"],
            "what": "done",
        }
        status, answer = client.post("change", order)
        if status == 200:
            return 1 - n_set / (len(found["words"]) - len(found["punctuation"]))
        assert status == 409, answer


def first_wrong(found: Any, gold: Sentence) -> int:
    """The first word with a wrong head, punctuation aside; 0: there is none."""
    for place, (shown, head) in enumerate(zip(found["words"], gold.heads or ()), 1):
        if shown["tag"] != "PUNCT" and shown["head"] != head:
            return place
    return 0


def wait_for_lesson(client: Client, trees: int) -> None:
    """Waits until so many sentences are learnt from, as they are while a person reads."""
    for _ in range(1000):
        learning = client.get("state")["learning"]
        if learning["state"] == "ready" and learning["trees"] >= trees:
            return
        time.sleep(0.1)
    raise AssertionError(learning)
