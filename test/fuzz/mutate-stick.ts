import type { Mutate } from './mutate-bytes.ts';
import type { Random } from './random.ts';

/** What a name on a stick is. 'file': one of the good files, changed where `edit` says so. 'link': to `from`, a place beside the stick. */
export type StickEntry = {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'pipe' | 'socket';
  /** Which of the good files, or which place. */
  readonly from: string;
  /** Seed of what is changed in the file; 0: nothing. */
  readonly edit: number;
};

/** A stick is described and not copied: the same description is the same stick, whatever keys were made for it. */
export type Stick = { readonly verb: string; readonly entries: readonly StickEntry[] };

const KINDS = ['file', 'folder', 'link', 'pipe', 'socket'] as const;

/** Changes one or two things of a stick: what a name is, where it is, what it holds, whether it is there. The corpus has one for each verb. */
export const mutateStick =
  (
    verbs: readonly string[],
    paths: readonly string[],
    files: readonly string[],
    places: readonly string[],
  ): Mutate =>
  (random, input, others) => {
    // Of a stick that was changed often little is read: half of them begin with a good one.
    const base = random.chance(50) ? random.pick(others.slice(0, verbs.length)) : input;
    let stick = JSON.parse(base.toString()) as Stick;
    const anyEntry = (): StickEntry => {
      const kind = random.chance(60) ? 'file' : random.pick(KINDS);
      const from = random.pick(kind === 'link' ? places : files);
      return { path: random.pick(paths), kind, from, edit: random.chance(50) ? 0 : random.below(1 << 30) };
    };
    const change = (entry: StickEntry): StickEntry => {
      const other = anyEntry();
      const changed = [
        { ...other, path: entry.path },
        { ...entry, path: other.path },
        { ...entry, edit: random.below(1 << 30) },
        { ...other, kind: 'link' as const, from: random.pick(places), path: entry.path },
      ];
      return random.pick(changed);
    };
    for (let count = 1 + random.below(2); count > 0; count--) {
      const { verb, entries } = stick;
      const at = random.below(entries.length);
      const made: readonly StickEntry[][] = [
        entries.map((entry, index) => (index === at ? change(entry) : entry)),
        [...entries, anyEntry()],
        // What comes first is in the place of what has the same name, or lies below.
        [anyEntry(), ...entries],
        [{ ...anyEntry(), kind: 'link', from: random.pick(places) }, ...entries],
        entries.filter((_, index) => index !== at),
        [...entries, ...takenFrom(random, others)],
      ];
      stick = {
        verb: random.chance(15) ? random.pick(verbs) : verb,
        entries: random.pick(made).slice(0, 60),
      };
    }
    return Buffer.from(JSON.stringify(stick));
  };

const takenFrom = (random: Random, others: readonly Buffer[]): readonly StickEntry[] => {
  const { entries } = JSON.parse(random.pick(others).toString()) as Stick;
  return entries.length === 0 ? [] : [random.pick(entries)];
};
