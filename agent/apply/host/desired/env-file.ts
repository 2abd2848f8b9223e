import { FleetError } from '#bundles/errors';
import { envStatements } from '#bundles/formats/bundle/env-statements';

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Control characters except the tab: systemd and sh end, drop or reject values that contain them. */
const CONTROL = /[^\P{Cc}\t]/u;

/**
 * Sets KEY to a value in an environment file, in the syntax that systemd's EnvironmentFile= (systemd.exec(5)) and sh share. Replaces
 * the last assignment of the key or appends one; all other bytes stay the same.
 * @param what names file and field in errors, which never contain the value
 * @throws FleetError SITE_VALUES
 */
export const setEnv = (bytes: Buffer, key: string, value: string, what: string): Buffer => {
  if (!KEY.test(key))
    throw new FleetError('SITE_VALUES', `${what}: ${JSON.stringify(key)} is not a name of a variable`);
  if (CONTROL.test(value) || !value.isWellFormed())
    throw new FleetError('SITE_VALUES', `${what}: the value has a line feed or another control character`, {
      hint: 'An environment file holds one line a value',
    });
  // latin1 maps each byte to one character, so the rest of the file keeps its bytes in any encoding.
  const text = bytes.toString('latin1');
  const line = Buffer.from(`${key}=${quote(value)}`).toString('latin1');
  const last = envStatements(text, what).findLast((statement) => statement.key === key);
  const changed = last
    ? text.slice(0, last.start) + line + text.slice(last.end)
    : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
  return Buffer.from(changed, 'latin1');
};

/** The four characters that a backslash escapes in double quotes in both sh and systemd. Single quotes differ between them. */
const quote = (value: string): string => `"${value.replaceAll(/["\\`$]/g, (char) => `\\${char}`)}"`;
