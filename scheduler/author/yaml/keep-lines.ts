import { diffArrays } from 'diff';

/**
 * Applies the difference between two texts to a third that says the same as the first in other whitespace. Lines that do not differ
 * stay as they are, and new lines get the indentation of the lines around them.
 * @param base the original in the form that the writer gives it @param changed the same with the change
 */
export const keepLines = (original: string, base: string, changed: string): string => {
  const lines = original.split('\n');
  const written = base.split('\n');
  const aligned = align(written, lines);
  const result: string[] = [];
  let at = 0;
  for (const { from, to, text } of hunksOf(written, changed.split('\n'))) {
    const [start, end] = [expandBack(aligned, from), expandForward(aligned, to, written.length)];
    const [first, last] = [
      start === 0 ? 0 : (aligned.get(start - 1) as number) + 1,
      end === written.length ? lines.length : (aligned.get(end) as number),
    ];
    // Two changes in one unaligned part of the text: the caller checks the result and takes `changed` instead.
    if (first < at) return changed;
    result.push(...lines.slice(at, first));
    const block = [...written.slice(start, from), ...text, ...written.slice(to, end)];
    result.push(...indentedBlock(block, (line) => indented(line, { start, end, aligned, written, lines })));
    at = last;
  }
  return [...result, ...lines.slice(at)].join('\n');
};

type Hunk = { readonly from: number; readonly to: number; readonly text: readonly string[] };

/** The parts of `before` that `after` replaces, in order. Documents are compared one by one where both have as many: the cost grows with the square of the lines that differ. */
const hunksOf = (before: readonly string[], after: readonly string[]): readonly Hunk[] => {
  const [left, right] = [documentsIn(before), documentsIn(after)];
  if (left.length !== right.length) return hunksIn(before, after, 0);
  let from = 0;
  return left.flatMap((lines, index) => {
    const hunks = hunksIn(lines, right[index] ?? [], from);
    from += lines.length;
    return hunks;
  });
};

const documentsIn = (lines: readonly string[]): readonly (readonly string[])[] => {
  const documents: string[][] = [[]];
  for (const line of lines) {
    if (line === '---') documents.push([]);
    documents.at(-1)?.push(line);
  }
  return documents;
};

/** @param first index of the first line of `before` in the whole text */
const hunksIn = (before: readonly string[], after: readonly string[], first: number): readonly Hunk[] => {
  const hunks: { from: number; to: number; text: string[] }[] = [];
  let at = first;
  let open = false;
  for (const { added, removed, value } of diffArrays([...before], [...after])) {
    if (!added && !removed) {
      at += value.length;
      open = false;
      continue;
    }
    if (!open) hunks.push({ from: at, to: at, text: [] });
    open = true;
    const hunk = hunks.at(-1) as (typeof hunks)[number];
    if (removed) {
      at += value.length;
      hunk.to = at;
    } else hunk.text.push(...value);
  }
  return hunks;
};

/** Line of `base` -> line of `original` with the same content but for whitespace at both ends. */
const align = (base: readonly string[], original: readonly string[]): ReadonlyMap<number, number> => {
  const pairs = new Map<number, number>();
  let [left, right] = [0, 0];
  const parts = diffArrays([...base], [...original], { comparator: (a, b) => plain(a) === plain(b) });
  for (const { added, removed, count } of parts) {
    if (added) right += count;
    else if (removed) left += count;
    else {
      for (let step = 0; step < count; step += 1) pairs.set(left + step, right + step);
      left += count;
      right += count;
    }
  }
  return pairs;
};

/** Without the whitespace that the writer changes: at the ends, before a comment, and inside of braces. */
const plain = (line: string): string =>
  line
    .trim()
    .replaceAll(/\s+#/g, ' #')
    .replaceAll(/([{[])\s+|\s+([}\]])/g, '$1$2');

const expandBack = (aligned: ReadonlyMap<number, number>, from: number): number => {
  let at = from;
  while (at > 0 && !aligned.has(at - 1)) at -= 1;
  return at;
};

const expandForward = (aligned: ReadonlyMap<number, number>, to: number, length: number): number => {
  let at = to;
  while (at < length && !aligned.has(at)) at += 1;
  return at;
};

const widthOf = (line: string): number => line.length - line.trimStart().length;

/** A line below another one of the block keeps its distance to it; the others ask for the indentation of their level. */
const indentedBlock = (block: readonly string[], widthAt: (line: string) => number): readonly string[] => {
  const above: { readonly base: number; readonly now: number }[] = [];
  return block.map((line) => {
    if (line.trim() === '') return line;
    const base = widthOf(line);
    while ((above.at(-1)?.base ?? -1) > base) above.pop();
    const last = above.at(-1);
    const now = last ? last.now + (base - last.base) : widthAt(line);
    above.push({ base, now });
    return `${' '.repeat(now)}${line.trimStart()}`;
  });
};

/** The indentation that the level of a line has nearby: before it, else behind it, else that of the level above and its own step. */
const indented = (
  line: string,
  {
    start,
    end,
    aligned,
    written,
    lines,
  }: {
    readonly start: number;
    readonly end: number;
    readonly aligned: ReadonlyMap<number, number>;
    readonly written: readonly string[];
    readonly lines: readonly string[];
  },
): number => {
  const wanted = widthOf(line);
  if (wanted === 0) return 0;
  let above: { readonly base: number; readonly original: number } | undefined;
  const look = (index: number): number | undefined => {
    const other = aligned.get(index);
    const text = written[index] ?? '';
    if (other === undefined || text.trim() === '') return undefined;
    const [base, original] = [widthOf(text), widthOf(lines[other] ?? '')];
    if (base === wanted) return original;
    if (base < wanted && (above === undefined || above.base < base)) above = { base, original };
    return undefined;
  };
  const found =
    firstOf(start - 1, -1, 0, written, wanted, look) ??
    firstOf(end, 1, written.length - 1, written, wanted, look);
  return found ?? (above ? above.original + (wanted - above.base) : wanted);
};

/** Looks at lines in one direction until one is at the top level. */
const firstOf = (
  from: number,
  step: 1 | -1,
  last: number,
  written: readonly string[],
  wanted: number,
  look: (index: number) => number | undefined,
): number | undefined => {
  for (let at = from; step > 0 ? at <= last : at >= last; at += step) {
    const found = look(at);
    if (found !== undefined) return found;
    const text = written[at] ?? '';
    if (text.trim() !== '' && widthOf(text) < wanted && widthOf(text) === 0) return undefined;
  }
  return undefined;
};
