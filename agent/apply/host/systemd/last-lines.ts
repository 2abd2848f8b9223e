import { FleetError, isFleetError, type Printed } from '#bundles/errors';
import { cutText } from '#cli/cut-text';
import type { DesiredPackage } from '../../../model/target.ts';
import { secretForms, secretTexts } from '../../../secrets/redact.ts';
import { shownText } from '../../../secrets/shown-text.ts';
import { type SystemdOptions, whyUnmanaged } from '../host-options.ts';
import { readJournal, syncJournal } from './read-journal.ts';
import { unitSecrets } from './unit-secrets.ts';
import { readUnitState } from './unit-state.ts';

const LINES = 10;
const MAX_LINE = 300;

/**
 * The last lines of a unit's last run in the journal, its own and systemd's about it; those of earlier runs where it has none. Without
 * escape sequences and secrets: those of the package, of the unit and by their form. '' where nothing can be asked. Throws nothing.
 */
export const lastLines = async (
  options: SystemdOptions,
  unit: string,
  desired: Pick<DesiredPackage, 'secrets' | 'files'> | undefined,
  signal: AbortSignal,
): Promise<string> => {
  if (whyUnmanaged(options) !== undefined) return '';
  try {
    await syncJournal(options, signal);
    const { invocation } = await readUnitState(options, unit, signal);
    const ofRun = [`_SYSTEMD_INVOCATION_ID=${invocation}`, '+', `INVOCATION_ID=${invocation}`];
    const run = invocation === '' ? [] : await readJournal(options, ofRun, LINES, signal);
    const entries =
      run.length > 0 ? run : await readJournal(options, ['--boot', `--unit=${unit}`], LINES, signal);
    const known = [
      ...(desired ? secretTexts(desired) : []),
      ...secretForms(await unitSecrets(options, unit, signal)),
    ];
    // Redacted as one text: a key has several lines.
    return shownText(entries.map(({ text }) => text).join('\n'), known)
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(-LINES)
      .map((line) => (line.length > MAX_LINE ? `${cutText(line, MAX_LINE)} ...` : line))
      .join('\n');
  } catch {
    // The failure of the unit counts, not that of the question.
    return '';
  }
};

/** Runs work on a unit. @throws FleetError UNIT_FAILED with the unit's last lines; otherwise the error of `work` */
export const withLastLines = async <T>(
  unit: string,
  ask: (unit: string) => Promise<string>,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!isFleetError(error, 'UNIT_FAILED')) throw error;
    const text = await ask(unit);
    throw text === '' ? error : printing(error, { by: unit, text });
  }
};

const printing = ({ code, message, subject, hint, cause }: FleetError, printed: Printed): FleetError =>
  new FleetError(code, message, {
    subject,
    hint,
    cause,
    printed,
  });
