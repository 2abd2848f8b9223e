import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import { ADOPTS } from './adopt.ts';

/** Values of annotations that decide what is written and how long is waited; a mistake in one would pass in silence. */
const RULES: Readonly<Record<string, readonly string[] | RegExp>> = {
  'fleet-ferry/adopt': ADOPTS,
  'fleet-ferry/conflicts': ['force', 'report'],
  'fleet-ferry/drift': ['correct', 'report', 'ignore'],
  'fleet-ferry/hook': ['before', 'after'],
  'fleet-ferry/ignore': /^\/[^,]+(?:,\s*\/[^,]+)*$/,
  'fleet-ferry/timeout': /^[1-9][0-9]{0,4}[smh]$/,
};

const FORMS: Readonly<Record<string, string>> = {
  'fleet-ferry/ignore': 'Write JSON pointers with commas between them: /spec/replicas,/data/key',
  'fleet-ferry/timeout': 'Write a number and s, m or h: 20m',
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
    const text = typeof value === 'string' ? value : JSON.stringify(value);
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
