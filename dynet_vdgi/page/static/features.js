// Features of words as text, without a document: completing and changing them.

const OF_UD = `
Number=Sing,Plur,Dual,Coll,Ptan,Pauc,Count,Grpa,Grpl,Inv,Tri
Case=Nom,Acc,Gen,Dat,Loc,Abs,Ins,Par,Abl,Ine,Erg,Ill,Ela,Ade,All,Tra,Com,Tem,Voc,Ess,Lat,Abe,Cmp,Cns
Case=Equ,Ter,Ben,Per,Cau,Add,Del,Dis,Sbe,Sbl,Spl,Sub,Sup Gender=Masc,Fem,Neut,Com Person=3,1,2,4,0
VerbForm=Fin,Part,Inf,Vnoun,Conv,Ger,Sup,Gdv Tense=Pres,Past,Fut,Imp,Pqp
PronType=Prs,Dem,Art,Int,Rel,Ind,Tot,Neg,Emp,Rcp,Exc Mood=Ind,Imp,Sub,Cnd,Opt,Pot,Int,Irr,Nec,Des,Jus,Prp,Qot,Adm
Definite=Def,Ind,Cons,Spec,Com Voice=Act,Pass,Cau,Mid,Lfoc,Rcp,Antip,Bfoc,Dir,Inv Aspect=Perf,Imp,Prog,Hab,Prosp,Iter
Animacy=Inan,Anim,Hum,Nhum Polarity=Neg,Pos Degree=Pos,Cmp,Sup,Dim,Equ,Aug,Abs AdpType=Post,Prep Person[psor]=3,1,2
Number[psor]=Sing,Plur NumType=Card,Ord,Mult,Sets,Dist,Frac,Range Poss=Yes Reflex=Yes Evident=Fh,Nfh
Deixis=Remt,Prox,Med,Abve,Bel,Even,Nvis Polite=Infm,Form,Elev,Humb PartType=Neg,Int NounClass=Bantu1,Bantu2
AdvType=Tim,Man,Loc,Deg,Mod Foreign=Yes NameType=Giv,Geo,Sur,Prs Variant=Short,Long
PunctType=Comm,Peri,Brck,Dash,Quot,Semi,Colo,Qest,Excl ExtPos=ADV,ADP,SCONJ,CCONJ,PRON,DET,ADJ,INTJ,AUX,PROPN
Clusivity=In,Ex Abbr=Yes NumForm=Digit,Word Connegative=Yes Typo=Yes DeixisRef=2,1
`;

const MOST_SHOWN = 30;
const LETTERS = /^(-?[^-=]){2,5}$/u; // that may stand for features
const MARK = /[:.,|]/; // between the parts of an XPOS; in one without, each letter is a part
const FEATURE = /^[^=|\s]+=[^=|\s]*$/;
const NEW = /^[A-Z][^=|\s]*=[A-Z0-9][^=|\s]*$/; // one that no list has

/** The features of UD, Name=Value, the frequent ones first, by their mean share of the words of 102 treebanks. */
const ofUd = OF_UD.trim().split(/\s+/).flatMap((line) => {
  const [name, values] = line.split("=");
  return values.split(",").map((value) => `${name}=${value}`);
});

/** @param {string} feats */
const parts = (feats) => (feats === "_" ? [] : feats.split("|"));

/** @param {string} feature */
const nameOf = (feature) => feature.split("=")[0];

/** @param {string} feature */
const valueOf = (feature) => feature.slice(feature.indexOf("=") + 1);

/**
 * The features that a word may get, as a whole, by what is typed: pieces with blanks between them, each the beginning
 * of a value or a name, or of both (`n=s`), Name=Value, or -value or Name= for one that goes; `_` first: all others go.
 * After `=` a value may be new (`pa=vb`). A short piece with which nothing begins is read letter by letter.
 * Known bundles that have all of these come before others, but nothing before features that are written in full.
 * @param {string} typed
 * @param {string} present features of the word
 * @param {string[]} bundles that are known, the likeliest first
 * @returns {string[]} the first is what Enter takes
 */
export function offers(typed, present, bundles) {
  const made = composed(typed, present, bundles);
  const whole = bundles.filter((bundle) => combined(typed, [], parts(bundle)).length);
  const first = present !== "_" || typed[0] === "_" || bundles.includes(made[0]) ? made.slice(0, 1) : [];
  const others = [...first, ...whole, ...made].filter((bundle) => bundle !== present);
  return [...new Set([...written(typed, present, bundles), ...others])].slice(0, MOST_SHOWN);
}

/**
 * The present features with known ones that are all written in full, also if they are there already; else nothing.
 * @param {string} typed
 * @param {string} present
 * @param {string[]} bundles
 */
function written(typed, present, bundles) {
  const pieces = typed.split(/\s+/).filter(Boolean);
  const areInFull = pieces.every((piece) => FEATURE.test(piece) && !piece.endsWith("=") && isKnown(piece, bundles));
  return pieces.length && areInFull ? [pieces.reduce(one, present)] : [];
}

/**
 * The present features with what is typed, those first in which each piece means the first feature that suits it.
 * @param {string} typed
 * @param {string} present
 * @param {string[]} bundles
 * @returns {string[]}
 */
export function composed(typed, present, bundles) {
  if (/^_./.test(typed)) return composed(typed.slice(1), "_", bundles);
  const all = [...new Set([...bundles.flatMap(parts), ...ofUd, ...typed.split(/\s+/).filter((piece) => NEW.test(piece))])];
  return combined(typed, parts(present), all, true).map((features) => features.reduce(one, present));
}

/**
 * The XPOS that a word may get by what is typed: the beginning of one that is known, or pieces with blanks between
 * them, each the beginning of a part that takes the place of another; a new part, rather of one as long as it, and
 * near the end. Where not all are equally long, what is none of these is one of its own: JJ is not JJS because of NNS.
 * @param {string} typed
 * @param {string} present XPOS of the word
 * @param {string[]} known the likeliest first
 * @returns {string[]} the first is what Enter takes
 */
export function xposOffers(typed, present, known) {
  const likest = present === "_" ? known[0] ?? "" : present;
  const own = placed(likest);
  const isCode = !MARK.test(likest);
  const others = known.map(placed).filter((each) => each.length === own.length).flat();
  const anew = typed.split(/\s+/).filter((piece) => !MARK.test(piece) && (piece.length === 1 || !isCode))
    .flatMap((piece) => own.filter((part) => !MARK.test(part)).map((part) => `${nameOf(part)}=${piece}`)).reverse()
    .sort((a, b) => excess(a, own) - excess(b, own));
  const made = combined(typed, own, [...new Set([...others, ...anew])]).map((chosen) => own.map((part) => (
    chosen.find((each) => nameOf(each) === nameOf(part)) ?? part).split("=")[1]).join(""));
  const whole = known.filter((each) => each.toLowerCase().startsWith(typed.toLowerCase()));
  const spelling = spelt(typed, known);
  const ended = typed === "_" ? [] : known.map((each) => spelling + each.slice(typed.length));
  const exact = known.filter((each) => each === typed);
  const first = [...whole.slice(0, 1), ...made.slice(0, 1), ...ended.slice(0, Number(isCode))];
  const isOther = spelling !== typed || (!made.length && new Set(known.map((each) => each.length)).size > 1);
  if (!whole.length && isOther && !/\s/.test(typed)) first.unshift(spelling);
  const offered = [...first, ...whole, ...made, ...ended].filter((each) => each !== present);
  return [...new Set([...exact, ...offered])].slice(0, MOST_SHOWN);
}

/**
 * The lemmas that a word may get by what is typed: the form with that as its beginning (`b` makes ben of ven, `g` gow of
 * ghow), the known ones that begin so, and the form up to a letter with that as its ending (`ke` makes make of making).
 * @param {string} typed
 * @param {string} form
 * @param {string} present lemma, which is not offered
 * @param {string[]} known the likeliest first
 */
export function lemmaOffers(typed, form, present, known) {
  const [own, letters] = [[...form], [...typed]];
  const [first, last] = [own.lastIndexOf(letters[0]), own.indexOf(letters[letters.length - 1])];
  const rests = [letters.length, letters.length + 1, last + 1, 0].map((k) => typed + own.slice(k).join(""));
  const whole = known.filter((each) => each.startsWith(typed));
  const ended = own.slice(0, Math.max(0, first)).join("") + typed;
  return [...new Set([...rests.slice(0, 2), ...whole, ended, ...rests])].filter((each) => each !== typed && each !== present);
}

/**
 * What is typed as an XPOS, with capitals where all that are known have them, unless it is shorter than these.
 * @param {string} typed
 * @param {string[]} known
 */
function spelt(typed, known) {
  const codes = known.filter((each) => /\p{L}/u.test(each));
  const isShorter = codes.every((each) => each.length > typed.length);
  if (codes.length < 2 || isShorter || !codes.every((each) => /^\p{Lu}/u.test(each))) return typed;
  const length = codes.every((each) => each === each.toUpperCase()) ? typed.length : 1;
  return typed.slice(0, length).toUpperCase() + typed.slice(length);
}

/** @param {string} xpos as parts, which are named by their places */
const placed = (xpos) => ((MARK.test(xpos) && xpos.match(/[^:.,|]+|[:.,|]/g)) || [...xpos]).map((part, k) => `@${k}=${part}`);

/**
 * By how many letters a part differs in length from the one in whose place it comes.
 * @param {string} part
 * @param {string[]} own
 */
const excess = (part, own) => Math.abs(part.length - (own.find((each) => nameOf(each) === nameOf(part)) ?? "").length);

/**
 * @param {string} typed
 * @param {string[]} present
 * @param {string[]} all
 * @param {boolean} [mayBeNew] whether a name may have a value that it has nowhere
 */
function combined(typed, present, all, mayBeNew = false) {
  let found = [{ chosen: /** @type {string[]} */ ([]), rank: 0 }];
  const suiting = (/** @type {string} */ text) => {
    const piece = text.toLowerCase();
    const less = /^-./.test(piece) ? piece.slice(1) : piece.endsWith("=") ? piece : null;
    const going = present.filter((each) => less !== null && (begins(each, less) || isNamed(each, less)));
    if (going.length) return going.map((each) => `${nameOf(each)}=`);
    const suits = [begins, isNamed].flatMap((test) => all.filter((each) => test(each, piece)));
    const exact = [...suits.filter((each) => each === text), ...suits.filter((each) => each.toLowerCase() === piece)];
    const known = [...new Set([...exact, ...suits])];
    return (known.length || !mayBeNew ? known : withNew(piece, all)).filter((each) => !present.includes(each));
  };
  const pieces = typed.split(/\s+/).filter(Boolean)
    .flatMap((piece) => (LETTERS.test(piece) && !suiting(piece).length ? piece.match(/-?./gu) ?? [] : [piece]));
  for (const piece of pieces) {
    found = found.flatMap(({ chosen, rank }) => suiting(piece)
      .filter((each) => !chosen.some((other) => nameOf(other) === nameOf(each)))
      .map((each, k) => ({ chosen: [...chosen, each], rank: rank + k })))
      .sort((a, b) => a.rank - b.rank).slice(0, MOST_SHOWN);
  }
  return found.map(({ chosen }) => chosen);
}

/**
 * A value that is new under the names that begin so: `pa=vb` is PartType=Vb, `g=m,n` Gender=Masc,Neut.
 * @param {string} piece in lower case
 * @param {string[]} all
 */
function withNew(piece, all) {
  const [name, value] = /^[^=|]+=[a-z0-9]+(,[a-z0-9]+)*$/.test(piece) ? piece.split("=") : [""];
  const names = value ? [...new Set(all.map(nameOf))].filter((each) => each.toLowerCase().startsWith(name)) : [];
  return names.map((each) => `${each}=${value.split(",").map((part) => (
    value.includes(",") && all.find((other) => nameOf(other) === each && begins(other, part))?.split("=")[1])
    || part.charAt(0).toUpperCase() + part.slice(1)).join(",")}`);
}

/** Whether the value of a feature begins so. @param {string} feature @param {string} piece in lower case */
const begins = (feature, piece) => feature.toLowerCase().startsWith(piece, feature.indexOf("=") + 1);

/**
 * Whether the name of a feature begins so, and what follows `=` its value.
 * @param {string} feature
 * @param {string} piece
 */
function isNamed(feature, piece) {
  const [name, value] = [nameOf(piece), piece.includes("=") ? valueOf(piece) : undefined];
  return feature.toLowerCase().startsWith(name) && (value === undefined || begins(feature, value));
}

/**
 * Whether a feature is one of UD or of known bundles, whatever its layer; so is what removes features.
 * @param {string} text Name=Value
 * @param {string[]} bundles
 */
export function isKnown(text, bundles) {
  const [name, value = ""] = text.split("=");
  const plain = name.replace(/\[.*\]$/, "");
  return bundles.some((bundle) => bundle.split("|").includes(text))
    || value.split(",").every((each) => !each || ofUd.includes(`${plain}=${each}`));
}

/**
 * The features after a change in words: Name=Value sets one, Name= removes it, "_" removes all, and several
 * with | replace all. Null: the text is none of these.
 * @param {string} feats "_": none
 * @param {string} text
 */
export function merged(feats, text) {
  if (text === "_") return "_";
  const found = text.split("|");
  if (!found.every((part) => FEATURE.test(part))) return null;
  return found.length > 1 ? sorted(found) : one(feats, text);
}

/** @param {string} feats @param {string} feature Name=Value, or Name= for none */
function one(feats, feature) {
  const others = parts(feats).filter((each) => nameOf(each) !== nameOf(feature));
  return sorted(feature.endsWith("=") ? others : [...others, feature]);
}

/** @param {string[]} found in the order of CoNLL-U, which does not depend on case */
function sorted(found) {
  const lower = (/** @type {string} */ text) => nameOf(text).toLowerCase();
  return found.sort((a, b) => (lower(a) < lower(b) ? -1 : 1)).join("|") || "_";
}
