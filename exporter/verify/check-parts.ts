import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { MediumParts, PartFile } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import type { CheckList } from './check-list.ts';
import { digestOfFile } from './digest-of-file.ts';

/**
 * Checks each part file against fleet/parts.json of its volume, so that a damaged file can be named; its content is checked with the
 * blobs. Then checks that all parts are present.
 */
export const checkParts = async (
  list: CheckList,
  parts: MediumParts,
  partial: boolean,
  signal?: AbortSignal,
): Promise<void> => {
  for (const part of parts.here) {
    await list.check(
      `part ${part.number}`,
      () => checkPart(part, signal),
      (digest) => ({ message: `${part.path}, ${part.size} bytes, ${digest}`, digests: [digest] }),
    );
  }
  for (const { number, path, error } of parts.damaged) {
    await list.check(
      `part ${number}`,
      async () => {
        throw damaged(`part ${number} (${path}) cannot be read: ${error.message}`, error);
      },
      () => '',
    );
  }
  await list.check(
    'set',
    async () => checkWhole(parts, partial),
    () => ({
      message: `${parts.here.length} of ${parts.count} parts of set ${shortDigest(parts.set)} are here`,
      digests: [parts.set],
    }),
  );
};

const checkPart = async ({ number, path, digest }: PartFile, signal?: AbortSignal): Promise<Digest> => {
  const found = await digestOfFile(path, signal);
  if (digest === undefined || found === digest) return found;
  throw damaged(`part ${number} (${path}) is ${shortDigest(found)}, fleet/parts.json says ${digest}`);
};

const damaged = (message: string, cause?: FleetError): FleetError =>
  new FleetError(cause?.code ?? 'DIGEST_MISMATCH', message, {
    hint: 'Send this part again; the others are usable',
    cause,
  });

const checkWhole = ({ missing, count }: MediumParts, partial: boolean): void => {
  if (missing.length === 0 || partial) return;
  const numbers = nameSome(missing.map(String));
  throw new FleetError(
    'PARTS_MISSING',
    missing.length === 1
      ? `part ${numbers} of ${count} is not here`
      : `parts ${numbers} of ${count} are not here`,
    { hint: 'Name all sticks at once, or add --partial to check these parts alone' },
  );
};
