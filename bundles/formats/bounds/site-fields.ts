import { allowsName } from './package-bounds.ts';
import type { BundleConfig, SiteInputField } from '../bundle/config.ts';

/** Entry of `critical` in bundles with fields that are text, restart pods, or are completed: older agents would put numbers where text belongs. */
export const SITE_FIELDS_CRITICAL = 'site-fields';

/** Keys that a ConfigMap can have. */
const KEY = /^[-._a-zA-Z0-9]{1,253}$/;

/**
 * The fields of a bundle that take values of a site: those that name an input, and for each completed ConfigMap one for each value that the
 * package may read.
 * @param names of the values that the site has
 */
export const siteFields = (
  { assignments, siteInputs }: Pick<BundleConfig, 'assignments' | 'siteInputs'>,
  names: readonly string[],
): readonly SiteInputField[] => [
  ...siteInputs.fields,
  ...(siteInputs.configs ?? []).flatMap(({ assignment, file, pointer }) => {
    const readable = assignments.find(({ id }) => id === assignment)?.bounds?.siteValues;
    return names
      .filter((name) => KEY.test(name) && (readable === undefined || allowsName(readable, name)))
      .map((input): SiteInputField => {
        const at = `${pointer}/${escapeToken(input)}`;
        return { input, assignment, file, pointer: at, as: 'text', restart: true };
      });
  }),
];

/** One reference token of a JSON pointer (RFC 6901, section 3). */
export const escapeToken = (token: string): string => token.replaceAll('~', '~0').replaceAll('/', '~1');

/** The reference tokens of a JSON pointer that begins with a slash. */
export const pointerTokens = (pointer: string): readonly string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
