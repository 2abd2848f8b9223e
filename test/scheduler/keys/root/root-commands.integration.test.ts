import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { fingerprint, generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import KeysGenerate from '../../../../scheduler/commands/keys/generate.ts';
import KeysProtect from '../../../../scheduler/commands/keys/protect.ts';
import KeysPublic from '../../../../scheduler/commands/keys/public.ts';
import RootCa from '../../../../scheduler/commands/root/ca.ts';
import RootInit from '../../../../scheduler/commands/root/init.ts';
import RootInspect from '../../../../scheduler/commands/root/inspect.ts';
import RootInstall from '../../../../scheduler/commands/root/install.ts';
import RootMerge from '../../../../scheduler/commands/root/merge.ts';
import RootRotate from '../../../../scheduler/commands/root/rotate.ts';
import RootSign from '../../../../scheduler/commands/root/sign.ts';
import RootVerify from '../../../../scheduler/commands/root/verify.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { runCommandClass } from '../../commands/run-command-class.ts';
import { emptyLayout } from './empty-layout.ts';
import { withOffice } from './officers.ts';
import { succeed } from '../../../harness/run/run-command.ts';

const NAMES = ['ada', 'ben', 'cleo', 'dora', 'bundle', 'release', 'lease', 'receipt', 'audit', 'ca'];
const ONLINE = ['bundle', 'release', 'lease', 'receipt', 'audit'];

type Command = Parameters<typeof runCommandClass>[0];

const withCeremony = async () => {
  const office = await withOffice(...NAMES);
  const { at } = office;
  const run = (command: Command, ...argv: readonly string[]) =>
    runCommandClass(command, [...argv, '--now', '2026-11-21T08:00:00Z']);
  const officers = (...names: readonly string[]) => names.flatMap((name) => ['--officer', at(`${name}.pub`)]);
  const roles = ONLINE.flatMap((role) => [`--${role}`, at(`${role}.pub`)]);
  const init = (...more: readonly string[]) =>
    run(RootInit, '--fleet', 'acme', ...roles, '--out', at('1.root.json'), ...more);
  const sign = (version: number, name: string, ...more: readonly string[]) =>
    run(RootSign, at(`${version}.root.json`), '--key', at(`${name}.key`), '--yes', ...more);
  const rotate = (version: number, ...more: readonly string[]) => {
    const out = more.includes('--out') ? [] : ['--out', at(`${version + 1}.root.json`)];
    return run(RootRotate, at(`${version}.root.json`), ...out, ...more);
  };
  const first = async () => {
    await init(...officers('ada', 'ben', 'cleo'));
    await sign(1, 'ada');
    return await sign(1, 'ben');
  };
  const finger = (name: string): string => {
    const key = office.keys[name];
    if (!key) throw new Error(`no key ${name}`);
    return fingerprint(key.public);
  };
  return { ...office, run, officers, init, sign, rotate, first, finger };
};

/** The one line a person reads. */
const said = ({ err }: { readonly err: string }): string => err.trim().split('\n').at(-1) ?? '';

describe('the root ceremony', () => {
  it('creates a first root from a draft over two officers to the key directory, and prints each next step', async () => {
    await using it = await withCeremony();
    const certificate = await it.run(
      RootCa,
      '--fleet',
      'acme',
      '--key',
      it.at('ca.key'),
      '--out',
      it.at('ca.pem'),
    );
    expect(certificate.out).toMatch(/authority of agents, certificate SHA-256 [0-9a-f]{64}, until 2036/);
    const draft = await it.init(...it.officers('ada', 'ben', 'cleo'), '--authority', it.at('ca.pem'));
    expect(draft.out).toContain('root: 2 of 3');
    expect(draft.out).toContain('valid until 2028-11-21T08:00:00Z');
    expect(draft.out).toContain('signatures of its own officers: 0, 2 needed');
    expect(draft.err).not.toContain('DEV');
    const ada = await it.sign(1, 'ada');
    expect(ada.err).toContain(`  ${it.finger('cleo')}`);
    expect(ada.out).toContain('on the laptop of another officer');
    const half = await it.run(RootVerify, it.at('1.root.json'));
    expect(half.code).toBe(4);
    expect(half.out).toContain(`${it.finger('ben')}  not yet`);
    expect(said(half)).toContain('ROOT_THRESHOLD_NEW: root 1: one more officer of root 1 must sign it');
    const ben = await it.sign(1, 'ben');
    expect(ben.out).toMatch(/complete\. SHA-256 [0-9a-f]{64}/);
    const sha = /SHA-256 ([0-9a-f]{64})/.exec(ben.out)?.[1] ?? '';
    const keys = ['--keys', it.at('keys')];
    succeed(await it.run(RootInstall, it.at('1.root.json'), ...keys, '--sha256', sha));
    const shown = await it.run(RootInspect, ...keys);
    expect(shown.out).toContain(`root 1  SHA-256 ${sha}`);
    expect(shown.err).toBe('');
    const json = (await it.run(RootInspect, ...keys, '--json')).json();
    expect(json).toMatchObject({ fleet: 'acme', dev: false, version: 1 });
  });

  it('root install names the missing audit log entry without a layout, and writes it once with --layout', async () => {
    await using it = await withCeremony();
    await it.first();
    const keys = ['--keys', it.at('keys'), '--person', 'ada', '--reason', 'cleo left'];
    expect((await it.run(RootInstall, it.at('1.root.json'), ...keys)).err).toBe('');
    await copyFile(it.at('audit.key'), it.at('keys/audit.key'));
    succeed(
      await it.rotate(1, '--remove', `officer=${it.at('cleo.pub')}`, '--add', `officer=${it.at('dora.pub')}`),
    );
    for (const name of ['ada', 'ben']) succeed(await it.sign(2, name));
    const install = (...more: readonly string[]) =>
      it.run(RootInstall, it.at('2.root.json'), ...keys, ...more);
    const unlogged = await install();
    expect([unlogged.code, unlogged.err.trim()]).toEqual([
      0,
      'There is no entry in the audit log, because no layout is configured here. Repeat it with --layout.',
    ]);
    const layout = await emptyLayout(it.at('layout'));
    for (let time = 0; time < 2; time++) {
      const logged = await install('--layout', layout);
      expect([logged.code, logged.err]).toEqual([0, '']);
    }
    const { roots } = await openKeyDirectory(it.at('keys'));
    const { entries } = await readAuditLog(await openLayout(layout), roots);
    const changes = entries.flatMap((entry) => (entry.kind === 'change' ? [entry.predicate] : []));
    expect(changes).toMatchObject([
      {
        change: 'root install',
        about: 'root 2',
        person: 'ada',
        reason: 'cleo left',
        old: { version: 1, digest: roots[0]?.digest },
        new: { version: 2, digest: roots[1]?.digest },
      },
    ]);
    const [before, after] = [JSON.stringify(changes[0]?.old), JSON.stringify(changes[0]?.new)];
    expect([before, after].map((text) => text.includes(it.finger('cleo')))).toEqual([true, false]);
    expect([before, after].map((text) => text.includes(it.finger('dora')))).toEqual([false, true]);
  });

  it('merges copies that officers signed at the same time, in place or into another file', async () => {
    await using it = await withCeremony();
    await it.init(...it.officers('ada', 'ben', 'cleo'));
    const draft = await readFile(it.at('1.root.json'), 'utf8');
    const copyOf = async (name: string): Promise<string> => {
      const file = it.at(`${name}.json`);
      await it.sign(1, name, '--out', file);
      return file;
    };
    const [ada, ben] = [await copyOf('ada'), await copyOf('ben')];
    const half = await it.run(RootMerge, it.at('1.root.json'), ada, '--out', it.at('half.json'));
    expect(half.out).toContain('half.json: root 1 with the signatures of 2 files');
    expect(half.out).toContain('on the laptop of another officer');
    const whole = await it.run(RootMerge, it.at('1.root.json'), ada, ben);
    expect(whole.out).toMatch(/complete\. SHA-256 [0-9a-f]{64}/);
    succeed(await it.run(RootVerify, it.at('1.root.json')));
    const before = await readFile(it.at('1.root.json'));
    await writeFile(it.at('other.json'), draft.replace('2028-11-21', '2028-10-21'));
    const other = await it.run(RootMerge, it.at('1.root.json'), it.at('other.json'));
    expect([other.code, said(other)]).toEqual([
      4,
      expect.stringMatching(/other\.json: EQUIVOCATION: root 1: it differs from /),
    ]);
    const missing = await it.run(RootMerge, it.at('1.root.json'), it.at('gone.json'));
    expect(said(missing)).toContain('KEY_MISSING: there is no root at');
    expect((await readFile(it.at('1.root.json'))).equals(before)).toBe(true);
  });

  it('shows an officer the changes since the previous root, and notes about them', async () => {
    await using it = await withCeremony();
    await it.first();
    await it.rotate(
      1,
      '--remove',
      `release=${it.at('release.pub')}`,
      '--add',
      `release=${it.at('bundle.pub')}`,
      '--threshold',
      'officer=3',
    );
    const shown = await it.run(RootInspect, it.at('2.root.json'));
    expect(shown.out).toContain('NOT COMPLETE');
    expect(shown.out).toContain(`- release key ${it.finger('release')}`);
    expect(shown.out).toContain(`+ release key ${it.finger('bundle')}`);
    expect(shown.out).toContain('~ root: 3 of them must sign, was 2');
    expect(shown.out).toContain('is bundle key and release key: stealing this one key is enough');
    expect(shown.out).toContain('Every officer must sign each rotation');
    expect(shown.out).not.toContain('lease key and receipt key');
    await it.rotate(1, '--add', `lease=${it.at('ada.pub')}`, '--out', it.at('lease.json'));
    const online = await it.run(RootInspect, it.at('lease.json'), '--before', it.at('1.root.json'));
    expect(online.out).toContain(`${it.finger('ada')} is officer's key and lease key: stealing this one key`);
    expect(shown.out).toContain('signatures of the officers of root 1: 0, 2 needed');
  });

  it('warns when an officer adds a signature to a complete root', async () => {
    await using it = await withCeremony();
    await it.first();
    expect((await it.sign(1, 'cleo')).err).toContain('another file with another SHA-256');
  });
});

describe('the root commands refuse', () => {
  it('too few officers, the same officer twice, and a role without a key', async () => {
    await using it = await withCeremony();
    const init = async (...more: readonly string[]) => said(await it.init(...more));
    expect(await init(...it.officers('ada'))).toContain('a root needs at least 2 officers, and here is one');
    expect(await init(...it.officers('ada', 'ben', 'ada'))).toMatch(
      /ada\.pub and .*ada\.pub are the same officer's key/,
    );
    expect(await init(...it.officers('ada', 'ben'), '--threshold', '1')).toContain(
      'one officer alone could change',
    );
    expect(await init(...it.officers('ada', 'ben'), '--threshold', '3')).toContain(
      '3 officers must sign, and there are 2',
    );
    expect(await init(...it.officers('ada', 'ben'), '--bundle-threshold', '2')).toContain(
      '2 bundle keys must sign',
    );
    const none = await it.run(RootInit, '--fleet', 'acme', ...it.officers('ada', 'ben'));
    expect([none.code, said(none)]).toEqual([
      2,
      expect.stringContaining('--bundle, --release, --lease, --receipt, --audit'),
    ]);
    expect(await init(...it.officers('ada', 'ben'), '--expires', '2030-01-01')).toContain(
      'more than 2 years ahead',
    );
    expect(await init('--officer', it.at('ada.key'), '--officer', it.at('ben.pub'))).toContain('KEY_FORMAT');
    expect(await init(...it.officers('ada', 'ben'), '--authority', it.at('ada.pub'))).toContain(
      'CERTIFICATE_INVALID',
    );
  });

  it('to overwrite a draft', async () => {
    await using it = await withCeremony();
    await it.first();
    const before = await readFile(it.at('1.root.json'));
    expect(said(await it.init(...it.officers('ada', 'ben')))).toContain('USAGE: there is a file');
    expect((await readFile(it.at('1.root.json'))).equals(before)).toBe(true);
  });

  it('a second signature by one officer, a key of no officer, and signing without a confirmation', async () => {
    await using it = await withCeremony();
    await it.init(...it.officers('ada', 'ben', 'cleo'));
    await it.sign(1, 'ada');
    const before = await readFile(it.at('1.root.json'));
    expect(said(await it.sign(1, 'ada'))).toContain(
      `officer ada ${it.finger('ada')} has signed root 1 already`,
    );
    const stranger = await it.sign(1, 'dora');
    expect([stranger.code, said(stranger)]).toEqual([
      4,
      expect.stringContaining("this key is not an officer's key of root 1"),
    ]);
    const silent = await it.run(RootSign, it.at('1.root.json'), '--key', it.at('ben.key'), '--json');
    expect([silent.code, silent.out]).toEqual([2, expect.stringContaining('no terminal to confirm')]);
    expect((await readFile(it.at('1.root.json'))).equals(before)).toBe(true);
  });

  it('a draft that was changed after a signature', async () => {
    await using it = await withCeremony();
    await it.init(...it.officers('ada', 'ben', 'cleo'));
    await it.sign(1, 'ada');
    const file = it.at('1.root.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace('"acme"', '"acne"'));
    const refused = await it.sign(1, 'ben');
    expect([refused.code, said(refused)]).toEqual([
      4,
      expect.stringMatching(
        /1\.root\.json: BAD_SIGNATURE: root 1: the signature of officer ada [0-9a-f]{64} does not match/,
      ),
    ]);
  });

  it('a root without its predecessor, or with another one', async () => {
    await using it = await withCeremony();
    await it.first();
    await it.rotate(1, '--add', `officer=${it.at('dora.pub')}`);
    await it.sign(2, 'ada');
    await it.sign(2, 'ben');
    await it.rotate(2);
    const wrong = await it.sign(3, 'ada', '--before', it.at('1.root.json'));
    expect(said(wrong)).toContain('ROOT_VERSION: root 3: it cannot follow root 1: versions go up by one');
    await writeFile(it.at('alone.json'), await readFile(it.at('3.root.json')));
    await using other = await withCeremony();
    const alone = await it.run(
      RootSign,
      it.at('alone.json'),
      '--key',
      it.at('ada.key'),
      '--yes',
      '--before',
      other.at('2.root.json'),
    );
    expect(said(alone)).toContain('KEY_MISSING: there is no root at');
    await writeFile(other.at('3.root.json'), await readFile(it.at('3.root.json')));
    const missing = await it.run(RootSign, other.at('3.root.json'), '--key', it.at('ada.key'), '--yes');
    expect(said(missing)).toMatch(
      /root 2 is missing, which it follows\. Put 2\.root\.json beside it, or name it with --before/,
    );
    const gap = await it.run(RootVerify, it.at('1.root.json'), it.at('3.root.json'));
    expect([gap.code, said(gap)]).toEqual([4, expect.stringContaining('ROOT_VERSION')]);
  });

  it('a rotation that removes a key or authority that the root lacks', async () => {
    await using it = await withCeremony();
    await it.first();
    const rotate = async (...more: readonly string[]) => said(await it.rotate(1, ...more));
    expect(await rotate('--remove', 'officer=abcdef')).toContain("root 1 has no officer's key abcdef");
    expect(await rotate('--remove', 'officer=ada')).toContain('is neither a file nor a fingerprint');
    expect(await rotate('--add', `king=${it.at('ada.pub')}`)).toContain('there is no role "king"');
    expect(await rotate('--add', 'release')).toContain('"release" is not <role>=<key>');
    expect(await rotate('--add', `officer=${it.at('ada.pub')}`)).toContain(
      "root 1 has this officer's key already",
    );
    expect(await rotate('--threshold', 'receipt=2')).toContain('this role has no threshold');
    expect(await rotate('--threshold', 'officer=many')).toContain('is not <role>=<number>');
    expect(await rotate('--remove', `lease=${it.at('lease.pub')}`)).toContain('no lease key would be left');
  });

  it('a file above the size limit of a root, without reading it', async () => {
    await using it = await withCeremony();
    await writeFile(it.at('1.root.json'), Buffer.alloc(600_000, ' '));
    expect(said(await it.sign(1, 'ada'))).toMatch(
      /1\.root\.json: TOO_LARGE: this has 600000 bytes, and a root at most 512000/,
    );
  });

  it('refuses to install an unfinished root or one with another digest than given', async () => {
    await using it = await withCeremony();
    await it.init(...it.officers('ada', 'ben', 'cleo'));
    const install = async (...more: readonly string[]) =>
      said(await it.run(RootInstall, it.at('1.root.json'), '--keys', it.at('keys'), ...more));
    expect(await install()).toMatch(
      /1\.root\.json: ROOT_THRESHOLD_NEW: .* See whose signature is missing: fleet-scheduler root verify/,
    );
    await it.sign(1, 'ada');
    await it.sign(1, 'cleo');
    expect(await install('--sha256', 'a'.repeat(64))).toContain('ROOT_UNKNOWN');
    expect(await install('--sha256', '12')).toContain('--sha256 must be 64 hex digits');
    expect(await install()).toBe('');
  });
});

describe('keys commands', { timeout: 60_000 }, () => {
  it('create encrypted keys, show them, and never overwrite one', async () => {
    await using it = await withCeremony();
    await writeFile(it.at('password'), 'correct horse\n', { mode: 0o600 });
    const password = ['--password-file', it.at('password')];
    const made = await it.run(KeysGenerate, '--out', it.at('eve.key'), ...password);
    const finger = /fingerprint ([0-9a-f]{64})/.exec(made.out)?.[1];
    expect(await readFile(it.at('eve.key'), 'utf8')).toContain('BEGIN ENCRYPTED SIGSTORE PRIVATE KEY');
    const shown = await it.run(KeysPublic, it.at('eve.key'), ...password);
    expect(shown.out).toBe(await readFile(it.at('eve.pub'), 'utf8'));
    expect(said(shown)).toBe(`fingerprint ${finger}`);
    expect(said(await it.run(KeysPublic, it.at('eve.pub')))).toBe(`fingerprint ${finger}`);
    const again = await it.run(KeysGenerate, '--out', it.at('eve.key'), '--plain');
    expect([again.code, said(again)]).toEqual([2, expect.stringContaining('there is a file')]);
    const nowhere = ['--plain', '--public', it.at('fay.pub'), '--out', it.at('no/fay.key')];
    expect(said(await it.run(KeysGenerate, ...nowhere))).toContain('there is no folder for');
    await expect(readFile(it.at('fay.pub'))).rejects.toThrow('ENOENT');
  });

  it('encrypt a plain key, and change a password', async () => {
    await using it = await withCeremony();
    await writeFile(it.at('one'), 'correct horse\n', { mode: 0o600 });
    await writeFile(it.at('two'), 'battery staple\n', { mode: 0o600 });
    // As openssl ecparam -genkey leaves it, and readable by all: to repair that is what this is for.
    await writeFile(it.at('loose.pem'), generatePrivateKey(), { mode: 0o644 });
    const key = loadSigningKey(await readFile(it.at('loose.pem'), 'utf8')).public;
    const first = await it.run(KeysProtect, it.at('loose.pem'), '--password-file', it.at('one'));
    expect(first.out).toContain(fingerprint(key));
    const change = ['--password-file', it.at('one'), '--new-password-file', it.at('two')];
    succeed(await it.run(KeysProtect, it.at('loose.pem'), ...change));
    const old = await it.run(KeysPublic, it.at('loose.pem'), '--password-file', it.at('one'));
    expect([old.code, said(old)]).toEqual([2, expect.stringContaining('loose.pem: KEY_LOCKED')]);
    const now = await it.run(KeysPublic, it.at('loose.pem'), '--password-file', it.at('two'));
    expect(now.out).toBe(key.pem);
  });
});
