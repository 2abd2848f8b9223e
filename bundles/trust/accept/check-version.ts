import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { KeptStatement } from './trust-state.ts';

/** Rejects older versions, and another content with the accepted version. @throws FleetError ROLLBACK, EQUIVOCATION */
export const checkVersion = (
  kept: KeptStatement | undefined,
  version: number,
  digest: Digest,
  what: string,
): 'newer' | 'same' => {
  if (!kept || version > kept.version) return 'newer';
  if (version < kept.version) {
    throw new FleetError(
      'ROLLBACK',
      `${what} has version ${version}, but ${kept.version} was accepted before`,
      {
        hint: 'Use the newer medium; going back needs a new release that names the old bundles',
      },
    );
  }
  if (digest !== kept.digest) {
    throw new FleetError(
      'EQUIVOCATION',
      `${what} version ${version} has other content than the one accepted before`,
      {
        hint: 'Somebody signed two different documents under one number: tell the platform team',
      },
    );
  }
  return 'same';
};
