// Completing the beginnings of relations, without a document.

const MOST_SHOWN = 40;

/** @param {string} relation */
const baseOf = (relation) => relation.split(":")[0];

/**
 * The relations that what is typed may stand for: those that are known, and then what is new.
 * @param {string} typed the beginning of a relation, or that of its subtype, too: `n:p` for nmod:poss; the subtype
 *   belongs to the present relation if nothing stands before it
 * @param {string[]} all that are known, the likeliest first
 * @param {string} present
 * @returns {{ known: string[], anew: string[] }} of what is new, the first is what Enter takes if nothing is known; if
 *   a relation stands before the colon as a whole, it stays, and so does what begins no relation that is known
 */
export function completed(typed, all, present) {
  const [, start, subtype] = /^([^:]*)(?::(.*))?$/s.exec(typed) ?? ["", typed];
  if (subtype === undefined) {
    const known = beginning(all, typed, typed);
    return { known, anew: typed && !known.includes(typed) ? [typed] : [] };
  }
  const base = (start || baseOf(present)).toLowerCase();
  const own = all.filter((one) => baseOf(one).toLowerCase() === base);
  const isWhole = !start || own.length > 0;
  const written = start ? typed : baseOf(present) + typed;
  const others = all.filter((one) => baseOf(one).toLowerCase().startsWith(base));
  const known = beginning((isWhole ? own : others).filter((one) => one.includes(":")), subtype, written, ":");
  const likeliest = isWhole ? undefined : others.find((one) => !one.includes(":"));
  const completion = likeliest ? [`${likeliest}:${subtype}`] : [];
  const anew = known.length ? [...completion, written] : [written, ...completion];
  return { known, anew: subtype ? anew.filter((one) => !known.includes(one)) : [] };
}

/**
 * The relations that begin so, or what follows the first colon of which does; first of all the one that is written.
 * @param {string[]} all
 * @param {string} start
 * @param {string} written
 * @param {string} [after] ":" for subtypes
 */
function beginning(all, start, written, after = "") {
  const suits = (/** @type {string} */ one) => (
    one.toLowerCase().startsWith(start.toLowerCase(), after ? one.indexOf(after) + 1 : 0));
  const found = all.filter(suits).slice(0, MOST_SHOWN);
  return all.includes(written) ? [written, ...found.filter((one) => one !== written)] : found;
}
