import { FleetError } from '#bundles/errors';

const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Control characters but the tab: one reader or the other ends, drops or refuses a value there. */
const CONTROL = /[^\P{Cc}\t]/u;

/**
 * Sets KEY to a value in an environment file, as systemd's EnvironmentFile= (systemd.exec(5)) and sh both read it: the
 * last assignment of the key is replaced, a new key is appended, every other byte stays.
 * `what` names file and field in errors; the value itself never appears in one.
 * @throws FleetError SITE_VALUES
 */
export const setEnv = (bytes: Buffer, key: string, value: string, what: string): Buffer => {
  if (!KEY.test(key))
    throw new FleetError('SITE_VALUES', `${what}: ${JSON.stringify(key)} is no name of a variable`);
  if (CONTROL.test(value) || !value.isWellFormed())
    throw new FleetError('SITE_VALUES', `${what}: the value has a line feed or another control character`, {
      hint: 'An environment file holds one line a value',
    });
  // One character a byte: whatever encoding the rest has, it comes out as it went in.
  const text = bytes.toString('latin1');
  const line = Buffer.from(`${key}=${quote(value)}`).toString('latin1');
  const last = statements(text, what).findLast((statement) => statement.key === key);
  const changed = last
    ? text.slice(0, last.start) + line + text.slice(last.end)
    : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
  return Buffer.from(changed, 'latin1');
};

/** In double quotes a backslash escapes exactly these four, in sh and in systemd alike; single quotes differ. */
const quote = (value: string): string => `"${value.replaceAll(/["\\`$]/g, (char) => `\\${char}`)}"`;

type Statement = { readonly key: string; readonly start: number; readonly end: number };

/** Assignments with where they begin and end: a quoted value or a backslash carries one over the line's end. */
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
