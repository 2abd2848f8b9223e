import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { ADOPTS } from './adopt.ts';
import { ADOPT, CONFLICTS, DRIFT, IGNORE, TIMEOUT, TIMEOUT_FORM } from './marks.ts';
import { HOOK, HOOK_DELETE } from './order-of.ts';
import { asText } from './words.ts';

/** Allowed values of the annotations whose invalid values `policyOf` would silently replace by the default. */
const RULES: Readonly<Record<string, readonly string[] | RegExp>> = {
  [ADOPT]: ADOPTS,
  [CONFLICTS]: ['force', 'report'],
  [DRIFT]: ['correct', 'report', 'ignore'],
  [HOOK]: ['before', 'after', 'failed'],
  [HOOK_DELETE]: /^(?:before|succeeded|failed)(?:,\s*(?:before|succeeded|failed))*$/,
  [IGNORE]: /^\/[^,]+(?:,\s*\/[^,]+)*$/,
  [TIMEOUT]: TIMEOUT_FORM,
};

const FORMS: Readonly<Record<string, string>> = {
  [HOOK_DELETE]: 'Write before (the default), succeeded, failed, or several with commas between them',
  [IGNORE]: 'Write JSON pointers with commas between them: /spec/replicas,/data/key',
  [TIMEOUT]: 'Write a number and s, m or h: 20m',
};

/** @param what kind and name of the object @param place of it in the package @throws FleetError OBJECT_INVALID */
export const checkRules = (
  annotations: Readonly<Record<string, unknown>>,
  what: string,
  place: string,
): void => {
  for (const [key, allowed] of Object.entries(RULES)) {
    const value = annotations[key];
    if (value === undefined) continue;
    const text = asText(value);
    if (allowed instanceof RegExp ? allowed.test(text) : allowed.includes(text)) continue;
    const form =
      allowed instanceof RegExp
        ? FORMS[key]
        : `${didYouMean(text, allowed) ?? ''}It can be ${allowed.join(', ')}`;
    throw new FleetError('OBJECT_INVALID', `${what} has ${key}: ${JSON.stringify(value)}`, {
      at: { file: place },
      hint: form ?? '',
    });
  }
};
