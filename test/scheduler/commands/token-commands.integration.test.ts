import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import RootAddAuthority from '../../../scheduler/commands/root/add-authority.ts';
import RootInspect from '../../../scheduler/commands/root/inspect.ts';
import Serve from '../../../scheduler/commands/serve.ts';
import TokensCreate from '../../../scheduler/commands/tokens/create.ts';
import TokensList from '../../../scheduler/commands/tokens/list.ts';
import TokensRevoke from '../../../scheduler/commands/tokens/revoke.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../file-tree.ts';
import { ours } from '../fleet-platform.ts';
import { enrolled, type TestHub, testHub } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const WHY = ['--reason', 'a test'];

const NOW = '2026-11-21T08:00:00Z';

const places = (hub: TestHub, db = join(hub.path, 'hub.db')): readonly string[] =>
  Object.entries({ keys: join(hub.path, 'keys'), layout: hub.layout, db, now: NOW }).flatMap(
    ([flag, value]) => [`--${flag}`, value],
  );

describe('tokens', () => {
  it('are created with their terms, listed without the secret, and revoked', async () => {
    await using hub = await testHub();
    const terms = [
      '--site',
      'plant-7',
      '--agent',
      'press-1',
      '--channel',
      'prod/line',
      '--label',
      'line=north',
    ];
    const made = await runCommandClass(TokensCreate, [...places(hub), ...terms, '--expires', '2h']);
    expect(made.out).toMatch(/^ffe_[A-Za-z0-9_-]{32}\n$/);
    expect(made.err).toContain('until 2026-11-21T10:00:00Z');
    const reader = await runCommandClass(TokensCreate, [
      ...places(hub),
      '--reader',
      '--note',
      'me',
      '--json',
    ]);
    expect(reader.json()).toMatchObject({ scope: 'reader', expiresAt: '2027-11-21T08:00:00Z' });
    const { out } = await runCommandClass(TokensList, places(hub));
    expect(out).toMatch(/enroll {2}plant-7\/press-1 {2}prod\/line {2}open, until 2026-11-21T10:00:00Z/);
    expect(out).not.toContain(made.out.trim());
    const { id } = reader.json() as { id: string };
    expect((await runCommandClass(TokensRevoke, [...places(hub), ...WHY, id])).out).toContain('is revoked');
    expect((await runCommandClass(TokensRevoke, [...places(hub), ...WHY, id])).out).toContain(
      'nothing changed',
    );
    const unknown = await runCommandClass(TokensRevoke, [...places(hub), ...WHY, 'nobody']);
    expect([unknown.code, unknown.err]).toEqual([4, expect.stringContaining('TOKEN_INVALID')]);
  });

  it('for decisions are refused for an environment that the platform lacks', async () => {
    await using hub = await testHub();
    await writeFiles(hub.path, {
      'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: dev}, {name: prod}]\n'),
      'fleet-scheduler.yaml': `platform: platform\ncache: cache\nkeys: keys\nlayout: ${hub.layout}\ndb: hub.db\n`,
    });
    const create = (allowed: string) =>
      runCommandClass(TokensCreate, [
        '--config',
        join(hub.path, 'fleet-scheduler.yaml'),
        '--now',
        NOW,
        '--person',
        'ci',
        '--allow',
        allowed,
      ]);
    const refused = await create('promote:prd');
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('the fleet has no environment prd. Did you mean prod? It has dev, prod'),
    ]);
    for (const allowed of ['promote:prod', 'wait:*']) expect((await create(allowed)).code).toBe(0);
    await rm(join(hub.path, 'platform'), { recursive: true });
    const unread = await create('promote:prd');
    expect([unread.code, unread.err]).toEqual([
      0,
      expect.stringContaining('The environments were not checked'),
    ]);
  });

  it("log each token's rights, and never the token", async () => {
    await using hub = await testHub();
    const { out, err } = await runCommandClass(TokensCreate, [...places(hub), '--site', 'plant-7']);
    const line = err.split('\n').find((text) => text.startsWith('{')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ audit: true, msg: 'token created', site: 'plant-7' });
    expect(err).not.toContain(out.trim());
  });

  it.each([
    ['nothing', []],
    ['a site that is not a name', ['--site', 'Plant 7']],
    ['a channel that is none', ['--site', 'plant-7', '--channel', 'prod']],
    ['a label that is none', ['--site', 'plant-7', '--label', 'north']],
    ['a time that is none', ['--site', 'plant-7', '--expires', 'tomorrow']],
    ['a life that is too long', ['--reader', '--expires', '500d']],
    ['a site for a reader', ['--reader', '--site', 'plant-7']],
  ])('are refused for %s', async (_, words) => {
    await using hub = await testHub();
    const { code } = await runCommandClass(TokensCreate, [...places(hub), ...words]);
    expect([2, 3]).toContain(code);
    expect((await runCommandClass(TokensList, places(hub))).out).toMatch(/^No token yet/);
  });

  it('are refused in a new database beside a layout with site statements', async () => {
    await using hub = await testHub();
    await enrolled(hub, 'plant-7/press-1');
    const elsewhere = places(hub, join(hub.path, 'other.db'));
    for (const command of [TokensCreate, Serve]) {
      const words = command === Serve ? [] : ['--site', 'plant-7'];
      const { code, err } = await runCommandClass(command, [...elsewhere, ...words]);
      expect([code, err]).toEqual([5, expect.stringContaining('there is no hub database at')]);
    }
  });
});

describe('root add-authority', () => {
  it('is refused when the root has an authority, which root inspect prints', async () => {
    await using hub = await testHub();
    const keys = ['--keys', join(hub.path, 'keys')];
    const refused = await runCommandClass(RootAddAuthority, keys);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('has an authority')]);
    const shown = await runCommandClass(RootInspect, keys);
    expect(shown.out).toMatch(/authority of agents: certificate SHA-256 [0-9a-f]{64}, until 2036-/);
  });
});

describe('serve', () => {
  it("refuses to start without the authority's key, with a certificate but no key, or with an invalid address", async () => {
    await using hub = await testHub();
    const words = [...places(hub), '--listen', '127.0.0.1:0'];
    const half = await runCommandClass(Serve, [...words, '--tls-cert-file', 'x']);
    expect([half.code, half.err]).toEqual([2, expect.stringContaining('must be set together')]);
    const address = await runCommandClass(Serve, [...places(hub), '--listen', 'nowhere']);
    expect([address.code, address.err]).toEqual([2, expect.stringContaining('is not <host>:<port>')]);
    await rm(join(hub.path, 'keys', 'ca.key'));
    const keyless = await runCommandClass(Serve, words);
    expect([keyless.code, keyless.err]).toEqual([5, expect.stringContaining('KEY_MISSING')]);
  });

  it('reads its address and name from the file, and flags override them', async () => {
    await using folder = await temporaryDirectory();
    const file = join(folder.path, 'fleet-scheduler.yaml');
    await writeFile(
      file,
      'listen: 127.0.0.1:9443\nhostnames: [hub.example, 10.7.0.1]\ntlsKeyFile: tls/hub.key\n',
    );
    expect(await readConfiguration({}, folder.path)).toMatchObject({
      listen: '127.0.0.1:9443',
      hostnames: ['hub.example', '10.7.0.1'],
      tlsKeyFile: join(folder.path, 'tls', 'hub.key'),
    });
    expect(await readConfiguration({ hostname: ['other'], listen: '[::]:1' }, folder.path)).toMatchObject({
      listen: '[::]:1',
      hostnames: ['other'],
    });
    await writeFile(file, 'listen: 8443\n');
    await expect(readConfiguration({}, folder.path)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      at: { file, line: 1 },
    });
  });
});
