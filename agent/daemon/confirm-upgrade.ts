import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Ends the trial of this version after a completed look: writes the file that fleet-agent-trial.service waits for. Without a trial
 * it does nothing. A file that cannot be written is not an error of the look: the trial then goes back at its limit.
 */
export const confirmUpgrade = (state: string): void => {
  const place = join(state, 'upgrade');
  if (!existsSync(join(place, 'trial'))) return;
  try {
    writeFileSync(join(place, 'healthy'), '');
  } catch {
    // The trial's limit reports it.
  }
};
