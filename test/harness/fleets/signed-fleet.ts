import { addDays } from '../../../bundles/time.ts';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '../../../bundles/trust/keys/key.ts';
import { createRoot } from '../../../bundles/trust/root/root.ts';

/** The time of all tests that sign something. */
export const NOW = new Date('2026-11-21T08:00:00Z');

type Role = 'root' | 'bundle' | 'release' | 'lease' | 'receipt' | 'audit';

export type SignedFleet = {
  readonly fleet: string;
  readonly keys: Readonly<Record<Role, SigningKey>>;
  /** Every version of the root so far. */
  readonly roots: readonly Buffer[];
};

export const newSigningKey = (): SigningKey => loadSigningKey(generatePrivateKey());

export const newFleet = async (fleet = 'acme'): Promise<SignedFleet> => {
  const keys = {
    root: newSigningKey(),
    bundle: newSigningKey(),
    release: newSigningKey(),
    lease: newSigningKey(),
    receipt: newSigningKey(),
    audit: newSigningKey(),
  };
  return { fleet, keys, roots: [await rootOf(fleet, keys, 1, [keys.root])] };
};

/** The fleet after its officers have signed the next root, with a new key for one role. */
export const rotate = async (fleet: SignedFleet, role: Role): Promise<SignedFleet> => {
  const keys = { ...fleet.keys, [role]: newSigningKey() };
  const next = await rootOf(fleet.fleet, keys, fleet.roots.length + 1, [fleet.keys.root, keys.root]);
  return { ...fleet, keys, roots: [...fleet.roots, next] };
};

const rootOf = (
  fleet: string,
  keys: SignedFleet['keys'],
  version: number,
  signers: readonly SigningKey[],
): Promise<Buffer> =>
  createRoot(
    {
      fleet,
      version,
      expires: addDays(NOW, 700),
      dev: true,
      keys: {
        root: [keys.root.public],
        bundle: [keys.bundle.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
    },
    signers,
  );
