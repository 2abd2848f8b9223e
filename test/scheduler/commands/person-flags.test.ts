import { userInfo } from 'node:os';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { requireReason } from '../../../scheduler/commands/person-flags.ts';

const WHAT = 'the secret set mqtt is removed from plant-7, and its agents delete it';

/** A terminal at which somebody types this when asked. */
const terminal = (typed: string, { isTTY = true, json = false } = {}) => {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = Object.assign(new PassThrough(), { isTTY });
  input.write(typed);
  return { input, output, json, shown: () => String(output.read() ?? '') };
};

describe('the reason of a verb that takes something away', () => {
  it('is asked for at a terminal, after the consequence; the person is the user who types it', async () => {
    const { shown, ...at } = terminal('the broker is gone\r');
    expect(await requireReason({}, WHAT, at)).toEqual({
      person: userInfo().username,
      reason: 'the broker is gone',
    });
    expect(shown()).toContain(`${WHAT}.\nReason, for the audit log (empty: stop): `);
  });

  it('is asked for with --person, too, whose name it keeps', async () => {
    const { shown: _, ...at } = terminal('the broker is gone\r');
    expect(await requireReason({ person: 'ada' }, WHAT, at)).toEqual({
      person: 'ada',
      reason: 'the broker is gone',
    });
  });

  it.each(['\r', '   \r'])('stops the verb when %j is typed', async (typed) => {
    const { shown: _, ...at } = terminal(typed);
    await expect(requireReason({}, WHAT, at)).rejects.toMatchObject({
      code: 'USAGE',
      message: 'no reason was given, and nothing was changed',
    });
  });

  it('that no entry can have is refused, typed or given', async () => {
    const { shown: _, ...at } = terminal(`${'a'.repeat(1001)}\r`);
    const refused = { code: 'USAGE', message: expect.stringContaining('1 to 1000 characters') };
    await expect(requireReason({}, WHAT, at)).rejects.toMatchObject(refused);
    await expect(requireReason({ reason: ' ' }, WHAT, at)).rejects.toMatchObject(refused);
  });

  it('stops the verb by Ctrl-C', async () => {
    const { shown: _, ...at } = terminal('\u0003');
    await expect(requireReason({}, WHAT, at)).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('is not asked for when --reason gives it', async () => {
    const { shown, ...at } = terminal('');
    expect(await requireReason({ person: 'ada', reason: 'moved' }, WHAT, at)).toEqual({
      person: 'ada',
      reason: 'moved',
    });
    expect(shown()).toBe('');
  });

  it.each([
    ['without a terminal', { isTTY: false }],
    ['with --json', { json: true }],
  ])('is not asked for %s: --reason is missing', async (_, how) => {
    const { shown, ...at } = terminal('moved\r', how);
    await expect(requireReason({}, WHAT, at)).rejects.toMatchObject({
      code: 'USAGE',
      message: `--reason is missing: ${WHAT}`,
    });
    expect(shown()).toBe('');
  });
});
