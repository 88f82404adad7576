// Features of words as text, without a document: completing and changing them.

const OF_UD = `
PronType=Art,Dem,Emp,Exc,Ind,Int,Neg,Prs,Rcp,Rel,Tot NumType=Card,Dist,Frac,Mult,Ord,Range,Sets Poss=Yes Reflex=Yes
Abbr=Yes Typo=Yes Foreign=Yes ExtPos=ADJ,ADP,ADV,AUX,CCONJ,DET,INTJ,PRON,PROPN,SCONJ
Gender=Com,Fem,Masc,Neut Animacy=Anim,Hum,Inan,Nhum NounClass=Bantu1,Bantu2
Number=Sing,Plur,Dual,Coll,Count,Grpa,Grpl,Inv,Pauc,Ptan,Tri
Case=Nom,Acc,Gen,Dat,Loc,Ins,Abe,Abl,Abs,Add,Ade,All,Ben,Cau,Cmp,Cns,Com,Del,Dis,Ela,Equ,Erg,Ess,Ill,Ine,Lat,Par,Per
Case=Sbe,Sbl,Spl,Sub,Sup,Tem,Ter,Tra,Voc
Definite=Def,Ind,Com,Cons,Spec Deixis=Abve,Bel,Even,Med,Nvis,Prox,Remt DeixisRef=1,2
Degree=Pos,Cmp,Sup,Abs,Aug,Dim,Equ VerbForm=Fin,Inf,Part,Conv,Gdv,Ger,Sup,Vnoun
Mood=Ind,Imp,Cnd,Sub,Adm,Des,Int,Irr,Jus,Nec,Opt,Pot,Prp,Qot Tense=Past,Pres,Fut,Imp,Pqp
Aspect=Imp,Perf,Hab,Iter,Prog,Prosp Voice=Act,Pass,Mid,Antip,Bfoc,Cau,Dir,Inv,Lfoc,Rcp Evident=Fh,Nfh
Polarity=Neg,Pos Person=3,1,2,0,4 Polite=Elev,Form,Humb,Infm Clusivity=Ex,In
`;

const MOST_SHOWN = 30;
const FEATURE = /^[^=|\s]+=[^=|\s]*$/;

/** The features of UD, Name=Value, the frequent ones first. */
const ofUd = OF_UD.trim().split(/\s+/).flatMap((line) => {
  const [name, values] = line.split("=");
  return values.split(",").map((value) => `${name}=${value}`);
});

/** @param {string} feats */
const parts = (feats) => (feats === "_" ? [] : feats.split("|"));

/** @param {string} feature */
const nameOf = (feature) => feature.split("=")[0];

/**
 * The features that a word may get, as a whole, by what is typed: beginnings of values or names with blanks
 * between them, -value or Name= for one that goes, or Name=Value. Known bundles that have all of these come before others.
 * @param {string} typed
 * @param {string} present features of the word
 * @param {string[]} bundles that are known, the likeliest first
 * @returns {string[]} the first is what Enter takes
 */
export function offers(typed, present, bundles) {
  const made = composed(typed, present, bundles);
  const whole = bundles.filter((bundle) => combined(typed, [], parts(bundle)).length);
  const first = present !== "_" || bundles.includes(made[0]) ? made.slice(0, 1) : [];
  return [...new Set([...first, ...whole, ...made])].filter((bundle) => bundle !== present).slice(0, MOST_SHOWN);
}

/**
 * The present features with what is typed: the first feature that suits each piece, but all that suit the last.
 * @param {string} typed
 * @param {string} present
 * @param {string[]} bundles
 */
export function composed(typed, present, bundles) {
  const all = [...new Set([...bundles.flatMap(parts), ...ofUd])];
  return combined(typed, parts(present), all).map((features) => features.reduce(one, present));
}

/**
 * @param {string} typed
 * @param {string[]} present
 * @param {string[]} all
 */
function combined(typed, present, all) {
  let found = [/** @type {string[]} */ ([])];
  for (const piece of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const [chosen = null] = found;
    if (!chosen) return [];
    const less = piece.startsWith("-") ? piece.slice(1) : piece.endsWith("=") ? piece : null;
    const going = present.filter((each) => less !== null && (begins(each, less) || isNamed(each, less)));
    const suiting = going.length ? going.map((each) => `${nameOf(each)}=`)
      : [begins, isNamed].flatMap((test) => all.filter((each) => test(each, piece) && !present.includes(each)));
    found = suiting.filter((each) => !chosen.some((other) => nameOf(other) === nameOf(each))).map((each) => [...chosen, each]);
  }
  return found;
}

/**
 * Whether the value of a feature begins so.
 * @param {string} feature
 * @param {string} piece in lower case
 */
const begins = (feature, piece) => feature.toLowerCase().startsWith(piece, feature.indexOf("=") + 1);

/**
 * @param {string} feature
 * @param {string} piece
 */
const isNamed = (feature, piece) => feature.toLowerCase().startsWith(piece);

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

/**
 * @param {string} feats
 * @param {string} feature Name=Value, or Name= for none
 */
function one(feats, feature) {
  const others = parts(feats).filter((each) => nameOf(each) !== nameOf(feature));
  return sorted(feature.endsWith("=") ? others : [...others, feature]);
}

/** @param {string[]} found in the order of CoNLL-U, which does not depend on case */
function sorted(found) {
  const lower = (/** @type {string} */ text) => nameOf(text).toLowerCase();
  return found.sort((a, b) => (lower(a) < lower(b) ? -1 : 1)).join("|") || "_";
}
