import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import Clean from '../../../exporter/commands/clean.ts';
import Inspect from '../../../exporter/commands/inspect.ts';
import Plan from '../../../exporter/commands/plan.ts';
import Recheck from '../../../exporter/commands/recheck.ts';
import Verify from '../../../exporter/commands/verify.ts';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';
import { KIOSK } from '../world.ts';
import { makeSetWorld, type SetWorld } from '../write/set-world.ts';

const NOW = ['--now', '2026-11-21T08:00:00Z'] as const;

let world: SetWorld;
let root: string;
beforeAll(async () => {
  world = await makeSetWorld();
  root = hexOf(digestOf(world.fleet.roots[0] ?? ''));
  const agent = await generateAgeIdentity();
  const agents = [{ name: 'line-1', channel: KIOSK, key: world.agent, recipient: agent.recipient }];
  await world.layout.site({ site: 'plant-7', version: 2, agents });
  await world.export('good', { sites: ['plant-7'] });
  await world.export('good.tar', { sites: ['plant-7'] });
  await world.exportSet(['sealed'], {}, { sealTo: [] });
  const stranger = await generateAgeIdentity();
  await writeFile(world.path('stranger.key'), `${stranger.identity}\n`, { mode: 0o600 });
  await writeFile(world.path('agent.key'), `${agent.identity}\n`, { mode: 0o600 });
});
afterAll(() => world[Symbol.asyncDispose]());

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

describe('the messages of refusals', () => {
  it('begin with what is wrong, why, and what to do when verify refuses a medium', async () => {
    await cp(world.path('good'), world.path('damaged'), { recursive: true });
    const blob = digestOf(Buffer.alloc(50_000, 'base'));
    await writeFile(world.path('damaged/blobs/sha256', hexOf(blob)), Buffer.alloc(50_000, 'BASE'));
    const { code, out } = await runCommandClass(Verify, [
      world.path('damaged'),
      '--root-sha256',
      root,
      ...NOW,
    ]);
    expect(code).toBe(4);
    const [line = ''] = out.split('\n');
    expect(line).toContain(
      `${world.path('damaged')} must not be imported, blobs is refused: DIGEST_MISMATCH: `,
    );
    expect(line).toContain('make it again');
    const good = await runCommandClass(Verify, [world.path('good'), '--root-sha256', root, ...NOW]);
    const [verdict, ...checks] = good.out.trimEnd().split('\n');
    expect([good.code, verdict]).toEqual([
      0,
      `${world.path('good')} may be imported: all ${checks.length} checks passed`,
    ]);
    const detailed = await runCommandClass(Verify, [world.path('good'), '--details', ...NOW]);
    expect(detailed.out).toMatch(
      /^\S+ is complete and consistent with its own root: all \d+ checks passed; --root-sha256 checks/,
    );
    expect(detailed.out).toMatch(/^kubernetes bundle prod\/kiosk \S+: built \S+ by test from candidate/m);
  });

  it('name the identity file that was tried and the flag when a medium is sealed to others', async () => {
    for (const [command, words] of [
      [Verify, [world.path('sealed'), '--root-sha256', root]],
      [Inspect, [world.path('sealed')]],
      [Plan, ['--from', world.path('layout'), '--to', world.path('next'), '--for', world.path('sealed')]],
    ] as const) {
      const tried = ['--identity', world.path('stranger.key')];
      const { code, err } = await runCommandClass(command, [...words, ...tried, ...NOW]);
      expect(code, err).toBe(4);
      expect(err).toContain(
        `NOT_A_RECIPIENT: no identity in ${world.path('stranger.key')} opens it: it is sealed to others`,
      );
      expect(err).toContain('Give --identity');
      const right = ['--identity', world.path('agent.key')];
      const opened = await runCommandClass(command, [...words, ...right, ...NOW]);
      expect(opened.code, opened.err).toBe(0);
    }
  });

  it('name --keep when an archive is cleaned without it', async () => {
    await mkdir(world.path('archive'));
    await cp(world.path('good.tar'), world.path('archive/october.tar'));
    await cp(world.path('sealed/fleet/parts'), world.path('archive'), { recursive: true });
    const { code, err } = await runCommandClass(Clean, [world.path('archive'), '--dry-run', ...NOW]);
    expect(code).toBe(2);
    expect(err).toContain(`${world.path('archive')} is an archive with 2 media as files, not a stick`);
    expect(err).toContain('--keep');
    const kept = await runCommandClass(Clean, [world.path('archive'), '--keep', '1', '--dry-run', ...NOW]);
    expect(kept.code, kept.err).toBe(0);
    expect((await runCommandClass(Clean, [world.path('good'), '--dry-run', ...NOW])).code).toBe(0);
  });
});

describe('evidence of a medium that cannot be opened', () => {
  const audit = async (medium: string, folder: string, ...more: readonly string[]) => {
    const key = ['--evidence', world.path(folder), '--sign-key', world.path('auditor.key')];
    return runCommandClass(Verify, [medium, '--root-sha256', root, ...key, ...more, ...NOW]);
  };
  beforeAll(async () => {
    const pem = generatePrivateKey();
    await writeFile(world.path('auditor.key'), pem, { mode: 0o600 });
    await writeFile(world.path('auditor.pub'), loadSigningKey(pem).public.pem);
    const tar = await readFile(world.path('good.tar'));
    await writeFile(world.path('cut.tar'), tar.subarray(0, tar.byteLength >> 1));
    await mkdir(world.path('empty'));
    await writeFile(world.path('shorter.tar'), tar.subarray(0, tar.byteLength >> 2));
    await mkdir(world.path('broken/fleet'), { recursive: true });
    await writeFile(world.path('broken/fleet/medium.json'), '{"format":1,');
    const [first = ''] = await readdir(world.path('sealed/fleet/parts'));
    await mkdir(world.path('some-parts'));
    await cp(world.path('sealed/fleet/parts', first), world.path('some-parts', first));
  });

  it('is a signed refusal with the digests of the medium, and passes recheck', async () => {
    for (const [name, medium, reason] of [
      ['cut', 'cut.tar', 'TRUNCATED'],
      ['sealed', 'sealed', 'MEDIUM_SEALED'],
      ['empty', 'empty', 'MEDIUM_EMPTY'],
    ] as const) {
      const folder = `evidence-${name}`;
      const { code, err, out } = await audit(world.path(medium), folder);
      expect([code > 1, err], name).toEqual([true, expect.stringContaining(reason)]);
      expect(out).toContain(`Evidence: ${world.path(folder)}, 1 line, signed`);
      const line = JSON.parse(await readFile(world.path(folder, 'checks.ndjson'), 'utf8')) as object;
      expect(line).toMatchObject({ what: 'open', result: 'refused', code: reason });
      if (name === 'cut')
        expect(line).toMatchObject({ digests: [digestOf(await readFile(world.path('cut.tar')))] });
      const words = [world.path(folder), '--key', world.path('auditor.pub'), ...NOW];
      const again = await runCommandClass(Recheck, words);
      expect([again.code, lastLine(again.out)]).toEqual([
        8,
        'At 2026-11-21T08:00:00Z the medium was refused.',
      ]);
      expect(again.out).toMatch(new RegExp(`^refused then: open: .*${reason}: `, 'm'));
    }
  });

  it('P15: is refused by recheck when a refused line was changed to passed -> EVIDENCE_INVALID', async () => {
    await audit(world.path('cut.tar'), 'altered');
    const file = world.path('altered/checks.ndjson');
    await writeFile(file, (await readFile(file, 'utf8')).replace('"refused"', '"passed"'));
    const words = [world.path('altered'), '--key', world.path('auditor.pub'), ...NOW];
    const { code, out } = await runCommandClass(Recheck, words);
    expect([code, out]).toEqual([4, expect.stringContaining('EVIDENCE_INVALID')]);
  });

  it.each([
    {
      name: 'cut',
      given: ['cut.tar'],
      code: 8,
      says: /cut\.tar is the medium .*: the same bytes; it still cannot be opened: .*TRUNCATED: /,
    },
    {
      name: 'cut',
      given: ['shorter.tar'],
      code: 4,
      says: /shorter\.tar is not the medium .*: its bytes differ$/,
    },
    { name: 'cut', given: ['good.tar'], code: 4, says: /good\.tar is not the medium .*: its bytes differ$/ },
    {
      name: 'broken',
      given: ['broken'],
      code: 8,
      says: /: the same table of contents, and no more of it was kept; it still cannot be opened: .*BAD_JSON: /,
    },
    {
      name: 'broken',
      given: ['good'],
      code: 4,
      says: /good is not the medium .*: its table of contents differs$/,
    },
    {
      name: 'broken',
      given: ['empty'],
      code: 4,
      says: /^EVIDENCE_INVALID: it is not known whether \S+empty is the medium .*: none of its files can be read now$/,
    },
    {
      name: 'empty',
      given: ['empty'],
      code: 4,
      says: /it is not known whether .*: none of its files could be read when it was refused$/,
    },
    {
      name: 'sealed',
      given: ['sealed'],
      code: 8,
      says: /: the same bytes; it still cannot be opened: .*MEDIUM_SEALED: /,
    },
    {
      name: 'sealed',
      given: ['sealed', '--identity', 'agent.key'],
      code: 8,
      says: /: the same bytes; it can be opened now$/,
    },
    {
      name: 'sealed',
      given: ['some-parts'],
      code: 8,
      says: /: 1 of its 5 files, the same bytes; it still cannot be opened: /,
    },
  ])(
    'recheck of $given finds whether it is the refused medium of $name',
    async ({ name, given, code, says }) => {
      await audit(world.path(name === 'cut' ? 'cut.tar' : name), `same-${name}-${given.join('')}`);
      const media = given.map((word) => (word.startsWith('--') ? word : world.path(word)));
      const words = [
        world.path(`same-${name}-${given.join('')}`),
        ...media,
        '--key',
        world.path('auditor.pub'),
        ...NOW,
      ];
      const again = await runCommandClass(Recheck, words);
      expect([again.code, again.err]).toEqual([code, '']);
      const line = /^(?:ok +|REFUSED) medium: (.*)$/m.exec(again.out)?.[1];
      expect(line, again.out).toMatch(says);
    },
  );

  it('is not written when the error is not about the medium', async () => {
    for (const [code, medium, ...more] of [
      ['MEDIUM_MISSING', world.path('nowhere')],
      ['KEY_MISSING', world.path('sealed'), '--identity', world.path('no-such.key')],
    ] as const) {
      expect((await audit(medium, 'none', ...more)).err).toContain(code);
      await expect(readFile(world.path('none/checks.ndjson'))).rejects.toThrow('ENOENT');
    }
  });
});
