import { defined } from '../../../defined.ts';
import type { RandomAccess } from '../../archive/random-access.ts';
import { type Digest, shortDigest } from '../../../digest.ts';
import { FleetError, isFleetError, toFleetError } from '../../../errors.ts';
import { nameSome } from '../../../name-some.ts';
import { type Candidate, type FoundParts, kindOfBytes, openCandidate } from './find-parts.ts';
import type { MediumParts, OpenOptions, PartFile } from '../medium.ts';
import { MAX_PARTS, shortSet } from './part.ts';
import { type ReadPart, readPart } from './read-part.ts';

/** A part that could be read, still open. */
export type GatheredPart = PartFile & ReadPart & { readonly bytes: RandomAccess; readonly sealed: boolean };

export type Gathered = {
  readonly parts: readonly GatheredPart[];
  readonly damaged: MediumParts['damaged'];
};

/**
 * Opens and checks every part found, each separately. Unreadable parts are listed in `damaged` with their file, so that the others
 * stay usable and one part can be sent again.
 * @param cleanup closes the parts
 * @throws FleetError MEDIUM_SEALED, NOT_A_RECIPIENT; MEDIUM_INVALID for parts of two sets; the error of a part when none can be read
 */
export const gatherParts = async (
  found: readonly FoundParts[],
  { unseal }: OpenOptions,
  cleanup: AsyncDisposableStack,
): Promise<Gathered> => {
  const files = found.reduce((sum, { candidates }) => sum + candidates.length, 0);
  if (files > MAX_FILES)
    throw new FleetError(
      'TOO_MANY',
      `there are ${files} files with names of parts, at most ${MAX_FILES} are read`,
    );
  const parts: GatheredPart[] = [];
  let entries = 0;
  const damaged: MediumParts['damaged'][number][] = [];
  for (const { set, candidates } of found) {
    for (const candidate of candidates) {
      try {
        const part = await openPart(candidate, set, unseal, cleanup);
        entries += part.spans.size;
        // The parts of a set have the same table of contents. It may have 64 MiB, so only one copy is kept in memory.
        const same = parts.find(({ label }) => label.set === part.label.set);
        parts.push(same ? { ...part, medium: same.medium } : part);
      } catch (cause) {
        const error = toFleetError(cause, `reading ${candidate.path}`);
        const number = candidate.number;
        // An error that applies to all parts is thrown once; so is the error of a file without a part number.
        if (number === undefined || FOR_ALL.some((code) => isFleetError(error, code)))
          throw named(error, candidate);
        const size = candidate.listed?.size ?? 0;
        damaged.push({ number, path: candidate.path, size, error: named(error, candidate) });
      }
      if (entries > MAX_ENTRIES)
        throw new FleetError('TOO_MANY', `the parts have more than ${MAX_ENTRIES} files together`);
    }
  }
  const [first] = parts;
  if (!first) throw damaged[0]?.error ?? new FleetError('PARTS_MISSING', 'all parts are missing');
  checkOneSet(parts);
  return { parts, damaged };
};

/** Twice the parts of the largest set: each may be there twice. */
const MAX_FILES = 2 * MAX_PARTS;

/** Limit of the index of files, which takes 200 bytes for each. */
const MAX_ENTRIES = 2_000_000;

const FOR_ALL = ['MEDIUM_SEALED', 'NOT_A_RECIPIENT', 'KEY_FORMAT', 'ABORTED', 'PERMISSION'] as const;

const openPart = async (
  candidate: Candidate,
  set: Digest | undefined,
  unseal: OpenOptions['unseal'],
  cleanup: AsyncDisposableStack,
): Promise<GatheredPart> => {
  const { path, number, listed } = candidate;
  await using opening = new AsyncDisposableStack();
  const file = opening.use(await openCandidate(candidate));
  const { size } = file;
  if (listed && size !== listed.size) {
    throw new FleetError('TRUNCATED', `it has ${size} bytes where ${listed.size} were written`, {
      hint: COPY_AGAIN_HINT,
    });
  }
  const sealed = (await kindOfBytes(file)) === 'sealed';
  if (sealed && !unseal) {
    throw new FleetError(
      'MEDIUM_SEALED',
      'the medium is sealed to the machines it is for; this program was given no identity',
      {
        hint: 'Open it where its agent is, or give the identity file of a recipient',
      },
    );
  }
  const bytes = sealed && unseal ? opening.use(await unseal(file)) : file;
  const read = await readPart(bytes);
  if (set !== undefined && read.label.set !== set)
    throw new FleetError('MEDIUM_INVALID', `it is of set ${shortSet(read.label.set)}, not ${shortSet(set)}`);
  if (number !== undefined && read.label.number !== number)
    throw new FleetError('MEDIUM_INVALID', `it says that it is part ${read.label.number}`);
  cleanup.use(opening.move());
  return {
    ...read,
    number: read.label.number,
    path,
    size,
    ...defined({ digest: listed?.digest }),
    bytes,
    sealed,
  };
};

const COPY_AGAIN_HINT = 'Copy or send this one part again; the others are good';

/** 'part 3 (/media/stick/fleet/parts/...-0003.tar)': names the file to send again. */
export const partTitle = ({
  number,
  path,
}: {
  readonly number: number | undefined;
  readonly path: string;
}): string => (number === undefined ? path : `part ${number} (${path})`);

const named = (error: FleetError, candidate: Candidate): FleetError => {
  const { code, message, subject, hint } = error;
  // Applies to all parts: another copy would not help.
  if (code === 'MEDIUM_SEALED' || code === 'NOT_A_RECIPIENT') return error;
  const advice = error.exitCode === 4 || code === 'MISSING_BLOB' ? COPY_AGAIN_HINT : hint;
  return new FleetError(code, `${partTitle(candidate)}: ${message}`, {
    subject,
    hint: advice,
    cause: error,
  });
};

const checkOneSet = (parts: readonly GatheredPart[]): void => {
  const sets = new Map(parts.map(({ label, path }) => [label.set, path]));
  if (sets.size < 2) return;
  const names = [...sets].map(([set, path]) => `${shortDigest(set)} (${path})`);
  throw new FleetError('MEDIUM_INVALID', `there are parts of ${sets.size} sets: ${nameSome(names, 3)}`, {
    hint: 'Keep the parts of one set in a folder, and move the others away',
  });
};
