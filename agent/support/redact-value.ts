import { namesSecret } from '../secrets/redact-shapes.ts';
import { PLACEHOLDER } from '../secrets/redact.ts';
import { shownText } from '../secrets/shown-text.ts';

/** Shortest secret that is replaced inside of words. */
const MIN_INSIDE = 4;

/** Replaces the secrets in texts of a support bundle, and in JSON, which stays JSON. */
export type Redactor = {
  readonly text: (text: string) => string;
  readonly value: (value: unknown) => unknown;
};

/** @param known as of secretForms */
export const createRedactor = (known: readonly string[]): Redactor => {
  const inside = known.filter((secret) => secret.length >= MIN_INSIDE);
  // A shorter one would be found in every second word: it is replaced where it stands alone.
  const short = known.filter((secret) => secret.length < MIN_INSIDE).map((secret) => RegExp.escape(secret));
  const alone =
    short.length === 0 ? undefined : new RegExp(`(?<![\\w-])(?:${short.join('|')})(?![\\w-])`, 'g');
  const text = (plain: string): string => {
    const shown = shownText(plain, inside);
    return alone ? shown.replaceAll(alone, PLACEHOLDER) : shown;
  };
  const value = (one: unknown): unknown => {
    if (typeof one === 'string') return text(one);
    if (typeof one === 'number') return text(String(one)) === String(one) ? one : PLACEHOLDER;
    if (Array.isArray(one)) return one.map(value);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(
      Object.entries(one).map(([name, field]) => [
        text(name),
        namesSecret(name) && typeof field === 'string' && field !== '' ? PLACEHOLDER : value(field),
      ]),
    );
  };
  return { text, value };
};
