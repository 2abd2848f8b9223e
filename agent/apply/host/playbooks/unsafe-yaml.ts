/**
 * JSON as YAML in which every text is tagged `!unsafe`: Ansible takes it as it is. Without the tag a value of the site or of the
 * configuration with `{{ }}` would be a template, which can run programs as root.
 */
export const unsafeYaml = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(unsafeYaml).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => `${quoted(key)}: ${unsafeYaml(item)}`);
    return `{${entries.join(', ')}}`;
  }
  return typeof value === 'string' ? `!unsafe ${quoted(value)}` : JSON.stringify(value);
};

/** YAML does not take these characters as they are (YAML 1.1, `c-printable`), or reads them as line breaks. */
// oxlint-disable-next-line no-control-regex
const NOT_PRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll(
    NOT_PRINTABLE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
