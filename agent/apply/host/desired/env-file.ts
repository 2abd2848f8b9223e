import { FleetError } from '#bundles/errors';

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
    throw new FleetError('SITE_VALUES', `${what}: ${JSON.stringify(key)} is no name of a variable`);
  if (CONTROL.test(value) || !value.isWellFormed())
    throw new FleetError('SITE_VALUES', `${what}: the value has a line feed or another control character`, {
      hint: 'An environment file holds one line a value',
    });
  // latin1 maps each byte to one character, so the rest of the file keeps its bytes in any encoding.
  const text = bytes.toString('latin1');
  const line = Buffer.from(`${key}=${quote(value)}`).toString('latin1');
  const last = statements(text, what).findLast((statement) => statement.key === key);
  const changed = last
    ? text.slice(0, last.start) + line + text.slice(last.end)
    : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
  return Buffer.from(changed, 'latin1');
};

/** The four characters that a backslash escapes in double quotes in both sh and systemd. Single quotes differ between them. */
const quote = (value: string): string => `"${value.replaceAll(/["\\`$]/g, (char) => `\\${char}`)}"`;

type Statement = { readonly key: string; readonly start: number; readonly end: number };

/** The assignments with their start and end. A quoted value or a backslash continues an assignment on the next line. */
const statements = (text: string, what: string): readonly Statement[] => {
  const found: Statement[] = [];
  for (let start = 0; start < text.length; start++) {
    if (' \t\r\n'.includes(text[start] as string)) continue;
    const comment = text[start] === '#' || text[start] === ';';
    const end = comment ? lineEnd(text, start) : statementEnd(text, start, what);
    const key = /^([^=\s]+)=/.exec(text.slice(start, end))?.[1];
    if (!comment && key !== undefined) found.push({ key, start, end });
    start = end;
  }
  return found;
};

const lineEnd = (text: string, start: number): number => {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
};

const statementEnd = (text: string, start: number, what: string): number => {
  let open: string | undefined;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '\\' && open !== "'") at++;
    else if (open !== undefined) open = char === open ? undefined : open;
    else if (char === '"' || char === "'") open = char;
    else if (char === '\n') return at;
  }
  if (open !== undefined)
    throw new FleetError('SITE_VALUES', `${what}: the file has a quote that is never closed`);
  return text.length;
};
