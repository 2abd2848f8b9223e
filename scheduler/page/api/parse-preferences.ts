/** How a person wants the page to look, kept in this browser. */
export type Preferences = {
  readonly times: 'utc' | 'local';
  readonly rows: 'normal' | 'compact';
};

export const DEFAULT_PREFERENCES: Preferences = { times: 'utc', rows: 'normal' };

/** Known choices of the stored text; the defaults of everything else. */
export const parsePreferences = (text: string | null): Preferences => {
  const given = parsed(text);
  return {
    times: given['times'] === 'local' ? 'local' : DEFAULT_PREFERENCES.times,
    rows: given['rows'] === 'compact' ? 'compact' : DEFAULT_PREFERENCES.rows,
  };
};

const parsed = (text: string | null): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};
