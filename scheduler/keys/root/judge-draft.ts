import { FleetError } from '#bundles/errors';
import { fingerprint, type PublicKey } from '#bundles/trust/keys/key';
import { readRoot } from '#bundles/trust/root/read-root';
import type { TrustRoot } from '#bundles/trust/root/root';
import { isEnough, type OfficerSignatures, officerSignatures } from '#bundles/trust/root/root-signatures';
import { rootFileName } from '../places/root-file.ts';
import { describeOfficer } from './officer-name.ts';

/** A root that officers are signing, with the state of its signatures. */
export type Draft = {
  readonly root: TrustRoot;
  readonly before: TrustRoot | undefined;
  /** Signatures by the officers of the previous root, if any, and by its own officers. */
  readonly signatures: readonly OfficerSignatures[];
  readonly complete: boolean;
};

/**
 * Reads a root that may lack signatures. It must follow the previous root, and every signature on it must be valid.
 * @throws FleetError ROOT_VERSION, ROOT_FLEET, ROOT_FORMAT, BAD_SIGNATURE
 */
export const judgeDraft = (bytes: Uint8Array, before: TrustRoot | undefined): Draft => {
  const root = readRoot(bytes);
  const subject = `root ${root.version}`;
  checkFollows(root, before, subject);
  const signatures = (before ? [before, root] : [root]).map((voter) => officerSignatures(voter, bytes));
  const broken = signatures.flatMap((one) => one.broken)[0];
  if (broken) {
    throw new FleetError(
      'BAD_SIGNATURE',
      `the signature of officer ${describeOfficer(before ?? root, broken)} does not match: the file was changed after they signed it`,
      { subject, hint: 'Do not sign it. Find out who changed it, and begin again with a new draft' },
    );
  }
  return { root, before, signatures, complete: signatures.every(isEnough) };
};

const checkFollows = (root: TrustRoot, before: TrustRoot | undefined, subject: string): void => {
  if (before === undefined) {
    if (root.version === 1) return;
    throw new FleetError('ROOT_VERSION', `root ${root.version - 1} is missing, which it follows`, {
      subject,
      hint: `Put ${rootFileName(root.version - 1)} beside it, or name it with --before`,
    });
  }
  if (before.fleet !== root.fleet) {
    throw new FleetError(
      'ROOT_FLEET',
      `it is of fleet ${root.fleet}, and root ${before.version} of ${before.fleet}`,
      {
        subject,
      },
    );
  }
  if (root.version !== before.version + 1) {
    throw new FleetError('ROOT_VERSION', `it cannot follow root ${before.version}: versions go up by one`, {
      subject,
      hint: `Name root ${root.version - 1} with --before`,
    });
  }
  if (!root.dev || before.dev) return;
  throw new FleetError('ROOT_FORMAT', 'it would make a development root of one that officers hold', {
    subject,
    hint: 'Do not sign it. A fleet for trying things out is another fleet, with a root of its own',
  });
};

/**
 * Checks that a key may sign the draft.
 * @throws FleetError UNKNOWN_KEY if it is not an officer's key, USAGE if it has already signed
 */
export const checkSigner = ({ root, before, signatures }: Draft, key: PublicKey): void => {
  const is = ({ hint }: PublicKey): boolean => hint === key.hint;
  const asked = signatures.filter(({ signed, missing }) => signed.some(is) || missing.some(is));
  if (asked.length === 0) {
    const whose = before ? `root ${before.version} nor of root ${root.version}` : `root ${root.version}`;
    throw new FleetError('UNKNOWN_KEY', `this key is not an officer's key of ${whose}`, {
      subject: fingerprint(key),
      hint: `Officers are ${[...new Set(signatures.flatMap(({ signed, missing }) => [...signed, ...missing]).map((one) => describeOfficer(before ?? root, one)))].join(', ')}`,
    });
  }
  if (asked.some(({ missing }) => missing.some(is))) return;
  throw new FleetError(
    'USAGE',
    `officer ${describeOfficer(root, key)} has signed root ${root.version} already`,
    {
      hint: 'Pass it on to the next officer',
    },
  );
};

/** Lines for the officers of each root: who has signed and who has not. */
export const signatureLines = ({ signatures, root, before }: Draft): readonly string[] => {
  const names = { officers: { ...root.officers, ...before?.officers } };
  return signatures.flatMap(({ of, needed, signed, missing }) => {
    const whose = of === root.version ? 'its own officers' : `the officers of root ${of}`;
    return [
      `signatures of ${whose}: ${signed.length}, ${needed} needed`,
      ...signed.map((key) => `  ${describeOfficer(names, key)}  signed`),
      ...missing.map((key) => `  ${describeOfficer(names, key)}  not yet`),
    ];
  });
};
