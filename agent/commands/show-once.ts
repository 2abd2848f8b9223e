import type { Printed } from '#cli/format-table';
import type { AskedRegistry } from '../daemon/ask-registry.ts';
import type { Look } from '../daemon/look-around.ts';
import { exitCodeOfLook, showLook } from './show-look.ts';

/** A look by a command, after it has asked the registry. */
export type LookOnce = Look & {
  /** false: no release was ever accepted here, so that nothing is known about what should run. */
  readonly hasRelease: boolean;
  /** Absent without a configured registry. */
  readonly registry?: AskedRegistry;
};

/** Lines for people. That all is well is said only of a release, and with the reason why there may be a newer one. */
export const showOnce = (look: LookOnce): readonly Printed[] => {
  const { registry, hasRelease } = look;
  return [
    ...(registry?.accepted === undefined
      ? []
      : [`Accepted release ${registry.accepted} from ${registry.address}.`]),
    ...(hasRelease ? showLook(look) : [NO_RELEASE]),
    ...(registry?.error
      ? [
          `${registry.address}: ${registry.error.code}: ${registry.error.message}${hasRelease ? '. There may be a newer release.' : ''}`,
        ]
      : []),
  ];
};

const NO_RELEASE =
  'No release was accepted here yet, so nothing runs: it comes by the registry or by "import".';

/** As exitCodeOfLook; also 8 where no release was accepted, or where the registry's offer was refused. */
export const exitCodeOfOnce = (look: LookOnce): 0 | 7 | 8 => {
  const code = exitCodeOfLook(look);
  if (code !== 0) return code;
  const { error } = look.registry ?? {};
  return !look.hasRelease || (error && !error.retryable) ? 8 : 0;
};
