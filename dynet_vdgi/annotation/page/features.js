// Features of words as text, without a document: completing and changing them.

const OF_UD = `
PronType=Art,Dem,Emp,Exc,Ind,Int,Neg,Prs,Rcp,Rel,Tot NumType=Card,Dist,Frac,Mult,Ord,Range,Sets Poss=Yes Reflex=Yes
Abbr=Yes Typo=Yes Foreign=Yes ExtPos=ADJ,ADP,ADV,AUX,CCONJ,DET,INTJ,PRON,PROPN,SCONJ
Gender=Com,Fem,Masc,Neut Animacy=Anim,Hum,Inan,Nhum NounClass=Bantu1,Bantu2
Number=Coll,Count,Dual,Grpa,Grpl,Inv,Pauc,Plur,Ptan,Sing,Tri
Case=Abe,Abl,Abs,Acc,Add,Ade,All,Ben,Cau,Cmp,Cns,Com,Dat,Del,Dis,Ela,Equ,Erg,Ess,Gen,Ill,Ine,Ins,Lat,Loc,Nom,Par,Per
Case=Sbe,Sbl,Spl,Sub,Sup,Tem,Ter,Tra,Voc
Definite=Com,Cons,Def,Ind,Spec Deixis=Abve,Bel,Even,Med,Nvis,Prox,Remt DeixisRef=1,2
Degree=Abs,Aug,Cmp,Dim,Equ,Pos,Sup VerbForm=Conv,Fin,Gdv,Ger,Inf,Part,Sup,Vnoun
Mood=Adm,Cnd,Des,Imp,Ind,Int,Irr,Jus,Nec,Opt,Pot,Prp,Qot,Sub Tense=Fut,Imp,Past,Pqp,Pres
Aspect=Hab,Imp,Iter,Perf,Prog,Prosp Voice=Act,Antip,Bfoc,Cau,Dir,Inv,Lfoc,Mid,Pass,Rcp Evident=Fh,Nfh
Polarity=Neg,Pos Person=0,1,2,3,4 Polite=Elev,Form,Humb,Infm Clusivity=Ex,In
`;

const FEATURE = /^[^=|\s]+=[^=|\s]*$/;

/** Known features, Name=Value: those of the sentences seen so far come before the others of UD. */
const known = new Set(OF_UD.trim().split(/\s+/).flatMap((line) => {
  const [name, values] = line.split("=");
  return values.split(",").map((value) => `${name}=${value}`);
}));
let ofFile = /** @type {Set<string>} */ (new Set());

/** @param {import("./sentence.js").Sentence} sentence whose features are completed from now on */
export function remember({ words }) {
  const bundles = words.flatMap(({ feats, bundles: guesses }) => [feats, ...guesses.map(([bundle]) => bundle)]);
  ofFile = new Set([...ofFile, ...bundles.flatMap((bundle) => bundle.split("|")).filter((one) => FEATURE.test(one))]);
}

/**
 * The features that begin with a text, first the one that it is.
 * @param {string} typed
 * @returns {string[]}
 */
export function completions(typed) {
  const found = [...ofFile, ...[...known].filter((one) => !ofFile.has(one))]
    .filter((one) => one.toLowerCase().startsWith(typed.toLowerCase()));
  return found.sort((a, b) => Number(b === typed) - Number(a === typed)).slice(0, 30);
}

/**
 * Whether a feature is one of UD or of the sentences seen, whatever its layer; so is what removes features.
 * @param {string} text Name=Value
 */
export function isKnown(text) {
  const [name, value = ""] = text.split("=");
  const plain = name.replace(/\[.*\]$/, "");
  return ofFile.has(text) || value.split(",").every((one) => !one || known.has(`${plain}=${one}`));
}

/**
 * The features after a change in words: Name=Value sets one, Name= removes it, "_" removes all, and several
 * with | replace all. Null: the text is none of these.
 * @param {string} feats "_": none
 * @param {string} text
 */
export function merged(feats, text) {
  if (text === "_") return "_";
  const parts = text.split("|");
  if (!parts.every((part) => FEATURE.test(part))) return null;
  if (parts.length > 1) return sorted(parts);
  const [name, value] = text.split("=");
  const others = (feats === "_" ? [] : feats.split("|")).filter((one) => one.split("=")[0] !== name);
  return sorted(value ? [...others, text] : others);
}

/** @param {string[]} parts in the order of CoNLL-U, which does not depend on case */
function sorted(parts) {
  const lower = (/** @type {string} */ text) => text.split("=")[0].toLowerCase();
  return parts.sort((a, b) => (lower(a) < lower(b) ? -1 : 1)).join("|") || "_";
}
