import { holdsSecret } from '#bundles/formats/diff/mask-secrets';
import { mayHoldSecret, parseText } from '#bundles/formats/diff/read-text';
import { isRecord } from '#bundles/is-record';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';

/**
 * Whether a file has a Secret, or a value under the name of one: its text is not shown by the hub, and is edited in Git.
 */
export const isWithheld = (text: string): boolean => {
  const values = parseText(text);
  if (values === undefined) return mayHoldSecret(text);
  return values.some((value) => holdsSecret(value) || hasSecretValue(value));
};

const hasSecretValue = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasSecretValue);
  if (!isRecord(value)) return false;
  return Object.entries(value).some(([name, inside]) =>
    typeof inside === 'string' ? inside !== '' && namesSecretValue(name) : hasSecretValue(inside),
  );
};
