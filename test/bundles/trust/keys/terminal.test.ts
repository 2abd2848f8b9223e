import { PassThrough } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import { openTerminal } from '#bundles/trust/keys/terminal';

const screen = () => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = new PassThrough();
  let shown = '';
  output.on('data', (chunk) => {
    shown += String(chunk);
  });
  const terminal = openTerminal({ input: input as unknown as ReadStream, output });
  if (!terminal) throw new Error('a terminal was expected');
  return { terminal, type: (text: string) => input.write(text), shown: () => shown };
};

describe('a terminal prompt', () => {
  it('echoes the answer, except for a password', async () => {
    const { terminal, type, shown } = screen();
    const said = terminal.ask('Sign? ');
    type('yes\r');
    expect(await said).toBe('yes');
    expect(shown()).toContain('yes');
    const password = terminal.askHidden('Password: ');
    type('correct horse\r');
    expect(await password).toBe('correct horse');
    expect(shown()).toContain('Password: ');
    expect(shown()).not.toContain('horse');
  });

  it('asks concurrent questions one after the other', async () => {
    const { terminal, type, shown } = screen();
    const both = [terminal.askHidden('First: '), terminal.askHidden('Second: ')];
    await new Promise((resolve) => setImmediate(resolve));
    expect(shown()).not.toContain('Second');
    type('one\r');
    expect(await both[0]).toBe('one');
    await new Promise((resolve) => setImmediate(resolve));
    type('two\r');
    expect(await both[1]).toBe('two');
  });

  it('is ABORTED by Ctrl-C', async () => {
    const { terminal, type } = screen();
    const said = terminal.askHidden('Password: ');
    type('abc\u0003');
    await expect(said).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('is absent where standard input is a file or a pipe', () => {
    const input = new PassThrough() as unknown as ReadStream;
    expect(openTerminal({ input, output: new PassThrough() })).toBeUndefined();
  });
});
