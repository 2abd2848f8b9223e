import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ask } from '#cli/ask';

const screen = ({ input: typed = true, output: shown = true } = {}) => {
  const input = Object.assign(new PassThrough(), { isTTY: typed });
  const output = Object.assign(new PassThrough(), { isTTY: shown });
  return { input, output };
};

describe('ask', () => {
  it('prints the question on the terminal and returns the line typed there', async () => {
    const { input, output } = screen();
    const answer = ask('Put in stick 2 and press Enter ', { flag: '--stick', input, output });
    input.write('done\r');
    expect(await answer).toBe('done');
    expect(String(output.read())).toContain('Put in stick 2 and press Enter');
  });

  it.each([{ input: false }, { output: false }])(
    'is a usage error that names the flag when there is no terminal: %j',
    async (part) => {
      const streams = screen(part);
      await expect(ask('Really? ', { flag: '--yes', ...streams })).rejects.toMatchObject({
        code: 'USAGE',
        message: 'there is no terminal to answer "Really?"',
        hint: 'Answer with --yes, or start it at a terminal',
      });
      expect(streams.output.read()).toBeNull();
    },
  );

  it.each(['\u0003', '\u0004'])('is ABORTED by %j', async (key) => {
    const { input, output } = screen();
    const answer = ask('Really? ', { flag: '--yes', input, output });
    input.write(key);
    await expect(answer).rejects.toMatchObject({
      code: 'ABORTED',
      hint: 'Start it again, or answer with --yes',
    });
    // What is said about it does not follow the question on its line.
    expect(String(output.read())).toMatch(/\n$/);
  });

  it('is ABORTED when the signal aborts, before or during the question', async () => {
    const stopping = new AbortController();
    const answer = ask('Really? ', { flag: '--yes', signal: stopping.signal, ...screen() });
    stopping.abort();
    await expect(answer).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(ask('?', { flag: '--yes', signal: stopping.signal, ...screen() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });
});
