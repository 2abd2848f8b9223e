import { FleetError } from '#bundles/errors';
import type { RootInput, TrustRoot } from '#bundles/trust/root/root';

/** The content of a root as input for createRoot, to derive the next version from. */
export const rootInput = ({
  fleet,
  version,
  expires,
  roles,
  receipt,
  audit,
  ...rest
}: TrustRoot): Required<RootInput> => ({
  fleet,
  version,
  expires,
  keys: {
    root: roles.root.keys,
    bundle: roles.bundle.keys,
    release: roles.release.keys,
    lease: roles.lease.keys,
    receipt,
    audit,
  },
  thresholds: {
    root: roles.root.threshold,
    bundle: roles.bundle.threshold,
    release: roles.release.threshold,
    lease: roles.lease.threshold,
  },
  agentCertificates: rest.agentCertificates,
  dev: rest.dev,
  officers: rest.officers,
});

const MIN_OFFICERS = 2;

/** Makes the checks of readers before a file is written, with hints for the command line. @throws FleetError USAGE */
export const checkInput = ({ keys, thresholds, dev }: Required<RootInput>): void => {
  if (!dev && keys.root.length < MIN_OFFICERS) {
    throw new FleetError(
      'USAGE',
      `a root needs at least ${MIN_OFFICERS} officers, and here ${countOf(keys.root)}`,
      {
        hint: 'Three with a threshold of two are usual: then one may lose a key',
      },
    );
  }
  for (const role of ['root', 'bundle', 'release', 'lease'] as const) {
    const [held, needed] = [keys[role].length, thresholds[role] ?? 1];
    const name = role === 'root' ? 'officers' : `${role} keys`;
    if (needed > held) {
      throw new FleetError('USAGE', `${needed} ${name} must sign, and there are ${held}`, {
        hint: `Give more keys, or a lower threshold`,
      });
    }
  }
  if (dev || (thresholds.root ?? MIN_OFFICERS) >= MIN_OFFICERS) return;
  throw new FleetError('USAGE', 'one officer alone could change this root', {
    hint: `Take a threshold of ${MIN_OFFICERS} or more; for trying things out there is root init --dev`,
  });
};

const countOf = ({ length }: readonly unknown[]): string => (length === 1 ? 'is one' : `are ${length}`);
