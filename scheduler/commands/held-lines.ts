import { type FleetError, formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';

export type HeldName = {
  /** 'kiosk/info-screen-kiosk' */
  readonly name: string;
  readonly error: FleetError;
  /** Its last good package stays in the bundle. */
  readonly kept: boolean;
};

const NAMES_SHOWN = 3;

/** One line for each error, not for each assignment: one error in a template may hold hundreds. */
export const heldLines = (held: readonly HeldName[]): readonly string[] =>
  [...Map.groupBy(held, ({ error }) => formatError(error))].map(([text, all]) => {
    const names = all.slice(0, NAMES_SHOWN).map(({ name }) => name);
    const more = all.length > NAMES_SHOWN ? ` and ${all.length - NAMES_SHOWN} more` : '';
    const kept = all.filter((one) => one.kept).length;

    return `held: ${text} (${names.join(', ')}${more}${staysText(kept, all.length)})`;
  });

/** '1 assignment is held', '3 assignments and 1 application are held' */
export const summariseHeld = (assignments: number, applications: number): string => {
  const parts = [
    assignments > 0 && formatCount(assignments, 'assignment'),
    applications > 0 && formatCount(applications, 'application'),
  ].filter((part) => part !== false);
  return `${parts.join(' and ')} ${assignments + applications === 1 ? 'is' : 'are'} held`;
};

const staysText = (kept: number, all: number): string => {
  if (kept === 0) return '';
  return kept === all ? '; the last good package stays' : `; ${kept} keep their last good package`;
};
