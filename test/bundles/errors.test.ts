import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CODES, FleetError, formatError, isFleetError, toFleetError } from '#bundles/errors';

describe('formatError', () => {
  it('prints place, code, subject, message and hint, in this order', () => {
    const at = { file: 'platform.yaml', line: 3, column: 7 };
    const error = new FleetError('NAME_CLASH', 'is there twice', {
      subject: 'Template a',
      at,
      hint: 'Rename one',
    });
    expect(formatError(error)).toBe('platform.yaml:3:7: NAME_CLASH: Template a: is there twice. Rename one.');
    expect(formatError(new FleetError('UNSIGNED', 'It has no signature.', { hint: 'Sign it.' }))).toBe(
      'UNSIGNED: It has no signature. Sign it.',
    );
    expect(formatError(new FleetError('UNSIGNED', 'it has no signature'))).toBe(
      'UNSIGNED: it has no signature',
    );
    expect(formatError(new FleetError('BUSY', 'm', { at: { file: 'f', column: 2 } }))).toBe('f: BUSY: m');
  });

  it('escapes control characters in the message, so that a terminal does not obey them', () => {
    const error = new FleetError('BAD_JSON', 'not JSON: \u001b[2J\u009b1m\r\u0007 two\nlines\t\u007f');
    expect(formatError(error)).toBe(
      'BAD_JSON: not JSON: \\u001b[2J\\u009b1m\\u000d\\u0007 two lines \\u007f',
    );
  });

  it('O17: prints one line for names with line breaks in place, subject, message and hint', () => {
    const name = 'a\nfleet-agent: all well\tb';
    const error = new FleetError('MEDIUM_INVALID', `${name} is a link`, {
      subject: name,
      at: { file: name },
      hint: `Remove ${name}`,
    });
    expect(formatError(error).split(/[\n\t\r]/)).toHaveLength(1);
    expect(error.code).toBe('MEDIUM_INVALID');
  });

  it('every code of FleetError has an exit code and a retryable flag', () => {
    const codes = Object.keys(CODES) as (keyof typeof CODES)[];
    for (const code of codes) {
      const { exitCode, retryable } = new FleetError(code, 'x');
      expect(exitCode).toBeGreaterThan(0);
      expect(retryable).toBe('retryable' in CODES[code]);
    }
    expect(new FleetError('USAGE', 'x').exitCode).toBe(2);
    expect(new FleetError('BAD_SIGNATURE', 'x')).toMatchObject({ exitCode: 4, retryable: false });
    expect(new FleetError('SOURCE_UNREACHABLE', 'x')).toMatchObject({ exitCode: 5, retryable: true });
  });
});

describe('toFleetError', () => {
  const withCode = (code: unknown) => Object.assign(new Error('why'), { code });

  it.each([
    ['ENOSPC', 'DISK_FULL'],
    ['EDQUOT', 'DISK_FULL'],
    ['SQLITE_FULL', 'DISK_FULL'],
    ['SQLITE_CORRUPT', 'STORE_CORRUPT'],
    ['SQLITE_CORRUPT_VTAB', 'STORE_CORRUPT'],
    ['SQLITE_NOTADB', 'STORE_CORRUPT'],
    ['SQLITE_IOERR_WRITE', 'IO'],
    ['SQLITE_READONLY_DIRECTORY', 'PERMISSION'],
    ['SQLITE_CANTOPEN', 'PERMISSION'],
    ['SQLITE_BUSY_SNAPSHOT', 'BUSY'],
    ['SQLITE_CONSTRAINT_UNIQUE', 'INTERNAL'],
    ['EACCES', 'PERMISSION'],
    ['EROFS', 'PERMISSION'],
    ['EIO', 'IO'],
    ['ERR_FS_FILE_TOO_LARGE', 'TOO_LARGE'],
    ['ERR_STRING_TOO_LONG', 'TOO_LARGE'],
    ['ENOENT', 'INTERNAL'],
    [undefined, 'INTERNAL'],
  ])('maps %s to %s and keeps the cause', (errno, code) => {
    const cause = withCode(errno);
    const error = toFleetError(cause, 'writing');
    expect(error).toMatchObject({ code, message: 'writing: why', cause });
    expect(error.hint === undefined).toBe(['IO', 'INTERNAL', 'STORE_CORRUPT'].includes(code));
    expect(isFleetError(error, 'USAGE')).toBe(false);
  });

  it('maps the reason of an aborted signal to ABORTED, thrown directly or by the file system', async () => {
    const signal = AbortSignal.abort();
    expect(toFleetError(signal.reason).code).toBe('ABORTED');
    const thrown: unknown = await readFile('package.json', { signal }).catch((error: unknown) => error);
    expect(toFleetError(thrown)).toMatchObject({ code: 'ABORTED', cause: thrown });
  });

  it('returns a FleetError unchanged', () => {
    const error = new FleetError('UNSIGNED', 'x');
    expect(toFleetError(error, 'reading')).toBe(error);
  });

  it('maps a thrown string or undefined to INTERNAL', () => {
    expect(toFleetError('a text')).toMatchObject({ code: 'INTERNAL', message: 'a text' });
    expect(toFleetError(undefined).code).toBe('INTERNAL');
  });
});

it('formatError omits a subject digest that the message contains, and adds no full stop after a question mark', () => {
  const digest = `sha256:${'ab'.repeat(32)}`;
  const error = new FleetError('MISSING_BLOB', `blob ${digest.slice(0, 19)} is not in medium x`, {
    subject: digest,
    hint: 'Is the stick mounted?',
  });
  expect(formatError(error)).toBe(
    `MISSING_BLOB: blob ${digest.slice(0, 19)} is not in medium x. Is the stick mounted?`,
  );
});

it('formatError omits a subject that the message begins with', () => {
  const error = new FleetError('SOURCE_MISSING', 'apps/web has no "main"', { subject: 'apps/web' });
  expect(formatError(error)).toBe('SOURCE_MISSING: apps/web has no "main"');
  expect(formatError(new FleetError('BUSY', 'apps/website is held', { subject: 'apps/web' }))).toBe(
    'BUSY: apps/web: apps/website is held',
  );
});
