import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CommandResult, Run } from '../../../../../agent/apply/host/host-options.ts';
import { performRequest } from '../../../../../agent/apply/host/runner/perform-request.ts';
import type { DebsRequest } from '../../../../../agent/apply/host/step-request.ts';
import { runStep } from '../../../../../agent/apply/host/runner/run-step.ts';
import { stepError } from '../../../../../agent/apply/host/runner/step-error.ts';
import {
  idOf,
  readResult,
  stepFolder,
  writeRequest,
} from '../../../../../agent/apply/host/runner/step-folder.ts';
import { digestOf } from '../../../../../bundles/digest.ts';
import { isFleetError } from '../../../../../bundles/errors.ts';
import { openBlobDirectory } from '../../../../../bundles/formats/layout/blob-directory.ts';
import { canonicalBytes } from '../../../../../bundles/json/canonical.ts';
import { never, sandbox } from '../sandbox.ts';

const DEB = Buffer.from('the bytes of a package');
const blob = { path: 'hello_1_all.deb', digest: digestOf(DEB), size: DEB.byteLength };
const index = Buffer.from('Package: hello\n');
const carried = {
  path: 'Packages',
  digest: digestOf(index),
  size: index.byteLength,
  bytes: index.toString('base64'),
};

const request: DebsRequest = {
  kind: 'debs',
  content: [blob, carried],
  timeoutSeconds: 60,
  secrets: [],
  install: [{ name: 'hello', version: '1' }],
  remove: [],
  changes: ['hello 1'],
  conffiles: 'keep',
  debconf: [],
  services: 'start',
  hold: [],
  unhold: [],
  lockSeconds: 0,
  hooks: [],
};

const SHOWN = 'hello\tall\t1\tinstall\tok\tinstalled\n';

/** A host whose apt and dpkg answer as given, by the first word of their verb; what they were called with is kept. */
const hostWith = async (
  answers: Readonly<Record<string, string | { readonly code: number; readonly stderr: string }>>,
  more: {
    readonly services?: 'systemd';
    readonly onRun?: (argv: readonly string[]) => Promise<void>;
    readonly answer?: (argv: readonly string[]) => CommandResult | undefined;
  } = {},
) => {
  const calls: (readonly string[])[] = [];
  const run: Run = async (argv) => {
    calls.push(argv);
    await more.onRun?.(argv);
    const given = more.answer?.(argv);
    if (given) return given;
    const [, answer] =
      Object.entries(answers).find(([words]) => words.split(' ').every((it) => argv.includes(it))) ?? [];
    if (typeof answer === 'object') return { stdout: '', ...answer };
    return { code: 0, stdout: answer ?? '', stderr: '' };
  };
  const host = await sandbox({
    run,
    ...(more.services && { services: more.services, root: '/' }),
  });
  onTestFinished(() => host[Symbol.asyncDispose]());
  const { state } = host.options;
  await mkdir(state, { recursive: true });
  await openBlobDirectory(state).write(blob.digest, blob.size, DEB);
  return { options: host.options, state, calls };
};

const installed = { 'apt-get --simulate': 'Inst hello (1 kiosk [all])\n', 'dpkg-query': SHOWN };

const steps = async (state: string) => readdir(join(state, 'runner')).catch(() => []);

test('a step folder contains exactly the content of the request, with blobs as hard links, and is removed afterwards', async () => {
  const seen: string[] = [];
  const { options, state } = await hostWith(installed, {
    onRun: async (argv) => {
      if (!argv.includes('--simulate')) return;
      const folder = join(state, 'runner', (await steps(state))[0] ?? '', 'content');
      for (const name of (await readdir(folder)).toSorted()) {
        const { nlink } = await stat(join(folder, name));
        seen.push(`${name} ${nlink} ${await readFile(join(folder, name), 'utf8')}`);
      }
    },
  });
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded', message: 'done' });
  expect(seen).toEqual(['Packages 1 Package: hello\n', 'hello_1_all.deb 2 the bytes of a package']);
  expect(await steps(state)).toEqual([]);
});

test('a blob that was changed in the store is refused before any program runs', async () => {
  const { options, state, calls } = await hostWith(installed);
  await writeFile(openBlobDirectory(state).path(blob.digest), 'the bytes of a packagE');
  await expect(runStep(request, options, never)).rejects.toSatisfy((it) =>
    isFleetError(it, 'DIGEST_MISMATCH'),
  );
  expect(calls).toEqual([]);
});

test('carried bytes of another digest, a missing blob and a path out of the folder are refused', async () => {
  const { options } = await hostWith(installed);
  const other = { ...carried, bytes: Buffer.from('Package: hellO\n').toString('base64') };
  const gone = { ...blob, digest: digestOf('nothing') };
  const out = { ...carried, path: '../../out' };
  for (const [content, code] of [
    [other, 'DIGEST_MISMATCH'],
    [gone, 'MISSING_BLOB'],
    [out, 'BAD_NAME'],
  ] as const)
    await expect(runStep({ ...request, content: [content] }, options, never)).rejects.toSatisfy((it) =>
      isFleetError(it, code),
    );
});

test('a request that was changed after it was written is refused', async () => {
  const { options, state, calls } = await hostWith(installed);
  const id = idOf(canonicalBytes(request));
  await writeRequest(stepFolder(state, id), canonicalBytes({ ...request, conffiles: 'replace' }));
  expect(await performRequest(options, id, never)).toMatchObject({
    outcome: 'refused',
    error: { code: 'DIGEST_MISMATCH' },
  });
  expect(calls).toEqual([]);
});

test('a step that ended before a power cut is not performed again: the repeated request finds its result', async () => {
  const { options, state, calls } = await hostWith(installed);
  const id = idOf(canonicalBytes(request));
  await writeRequest(stepFolder(state, id), canonicalBytes(request));
  await performRequest(options, id, never);
  const before = calls.length;
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded' });
  expect(calls).toHaveLength(before);
  expect(await steps(state)).toEqual([]);
});

test('a step that a stop interrupted leaves no result, and is performed again', async () => {
  const stop = new AbortController();
  const { options, state } = await hostWith(installed, {
    onRun: async (argv) => {
      if (!argv.includes('--simulate') || stop.signal.aborted) return;
      stop.abort();
      stop.signal.throwIfAborted();
    },
  });
  await expect(runStep(request, options, stop.signal)).rejects.toSatisfy((it) => isFleetError(it, 'ABORTED'));
  expect(await readResult(stepFolder(state, idOf(canonicalBytes(request))))).toBeUndefined();
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded' });
});

test('requests of abandoned operations are dropped when the next step begins', async () => {
  const { options, state } = await hostWith(installed);
  const old = canonicalBytes({ ...request, timeoutSeconds: 61 });
  await writeRequest(stepFolder(state, idOf(old)), old);
  await runStep(request, options, never);
  expect(await steps(state)).toEqual([]);
});

test('secrets are replaced in the message and in the output', async () => {
  const { options } = await hostWith({
    ...installed,
    'dpkg-query': '',
    'apt-get --yes': { code: 100, stderr: 'E: the password is hunter22' },
  });
  const result = await runStep({ ...request, secrets: ['hunter22'] }, options, never);
  expect(result).toMatchObject({
    outcome: 'failed',
    code: 100,
    message: 'apt or dpkg failed on this host: the password is [secret]',
  });
  expect(JSON.stringify(result)).not.toContain('hunter22');
});

test.each([
  [
    'a program that found its disk full',
    'cannot copy extracted data for ./usr/bin/x: failed to write (No space left on device)',
    'DISK_FULL',
  ],
  ['another failure', 'the maintainer script failed', 'DEB_FAILED'],
])('stepError: only a full disk is retryable, of %s', async (_what, said, code) => {
  const stderr = `dpkg: error processing archive /a/hello_1_all.deb (--unpack):\n ${said}\n`;
  const { options } = await hostWith({
    ...installed,
    'dpkg-query': '',
    'apt-get --yes': { code: 100, stderr },
  });
  const result = await runStep(request, options, never);
  expect(result.surroundings).toBeUndefined();
  const error = stepError('DEB_FAILED', result.message, result, 'see the log');
  expect(error).toMatchObject({ code, message: `hello: ${said}`, retryable: code === 'DISK_FULL' });
});

test('an image step sets TMPDIR to a folder below the step, so that a killed Podman leaves nothing behind', async () => {
  const { options, state } = await hostWith({});
  const places: (string | undefined)[] = [];
  const run: Run = async (_argv, { env }) => {
    places.push(env?.['TMPDIR']);
    return { code: 0, stdout: '', stderr: '' };
  };
  const removal = {
    kind: 'image',
    verb: 'remove',
    tag: 'web:fleet-ferry-1',
    content: [],
    secrets: [],
  } as const;
  await runStep({ ...removal, timeoutSeconds: 60 }, { ...options, run }, never);
  expect(places).toEqual([expect.stringContaining(join(state, 'runner'))]);
  expect(await steps(state)).toEqual([]);
});

test('an image is on the disk before Podman has it under the tag of a complete one', async () => {
  const { options, calls } = await hostWith({ 'podman pull': `${'a'.repeat(64)}\n` });
  const tag = 'registry.example/web:fleet-ferry-1';
  const load = { kind: 'image', verb: 'load', tag, content: [], secrets: [] } as const;
  expect(await runStep({ ...load, timeoutSeconds: 60 }, options, never)).toMatchObject({
    outcome: 'succeeded',
  });
  expect(calls.map((argv) => argv.slice(0, 2).join(' '))).toEqual([
    'podman pull',
    'sync --file-system',
    'podman tag',
  ]);
  expect(calls[2]).toEqual(['podman', 'tag', 'a'.repeat(64), tag]);
});

test('an image that could not be brought to the disk gets no tag, and the step fails', async () => {
  const { options, calls } = await hostWith({
    'podman pull': `${'a'.repeat(64)}\n`,
    sync: { code: 1, stderr: 'sync: error syncing: Input/output error\n' },
  });
  const load = { kind: 'image', verb: 'load', tag: 'x:fleet-ferry-1', content: [], secrets: [] } as const;
  expect(await runStep({ ...load, timeoutSeconds: 60 }, options, never)).toMatchObject({
    outcome: 'failed',
    message: expect.stringMatching(/^sync of \S+ ended with 1: sync: error syncing: Input\/output error$/),
  });
  expect(calls.some((argv) => argv.includes('tag'))).toBe(false);
});

test('long output of a step is cut in the middle: its first and last lines are kept', async () => {
  const noise = 'line\n'.repeat(5000);
  const { options } = await hostWith({
    ...installed,
    'apt-get --yes': { code: 100, stderr: `first words\n${noise}last words` },
  });
  const { first, last } = await runStep(request, options, never);
  expect(first.startsWith('first words\n')).toBe(true);
  expect(last.endsWith('\nlast words')).toBe(true);
  expect(first.length + last.length).toBeLessThanOrEqual(8192);
});

test('with systemd the step runs in its unit, which stores the result', async () => {
  const { options, state, calls } = await hostWith(
    { 'show --property=LoadState': 'loaded\n', ...installed },
    {
      services: 'systemd',
      onRun: async (argv) => {
        const unit = argv.includes('start') ? /@([0-9a-f]{32})\.service$/.exec(argv.at(-1) ?? '') : null;
        if (unit) await performRequest({ state, run: options.run }, unit[1] ?? '', never);
      },
    },
  );
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded' });
  const id = idOf(canonicalBytes(request));
  expect(calls.filter(([program]) => program === 'systemctl').map((argv) => argv.slice(3).join(' '))).toEqual(
    [
      `show --property=LoadState --value -- fleet-agent-runner@${id}.service`,
      `reset-failed -- fleet-agent-runner@${id}.service`,
      `start -- fleet-agent-runner@${id}.service`,
    ],
  );
});

test('a unit that ends without a result is a failure that names the unit', async () => {
  const { options } = await hostWith(
    { 'show --property=LoadState': 'loaded\n', start: { code: 1, stderr: 'Job failed.' } },
    { services: 'systemd' },
  );
  await expect(runStep(request, options, never)).rejects.toThrow(
    /fleet-agent-runner@[0-9a-f]{32}\.service ended without a result \(1\): Job failed\./,
  );
});

test('a unit that systemctl no longer waits for, because systemd was upgraded, is joined', async () => {
  let starts = 0;
  const { options, state } = await hostWith(
    { 'show --property=LoadState': 'loaded\n', ...installed },
    {
      services: 'systemd',
      answer: (argv) => {
        if (argv.includes('--property=ActiveState')) return { code: 0, stdout: 'activating\n', stderr: '' };
        if (!argv.includes('start') || (starts += 1) > 1) return undefined;
        return { code: 1, stdout: '', stderr: 'Connection reset by peer' };
      },
      onRun: async (argv) => {
        const [, id] = argv.includes('start')
          ? (/@([0-9a-f]{32})\.service$/.exec(argv.at(-1) ?? '') ?? [])
          : [];
        if (id !== undefined && starts > 0) await performRequest({ state, run: options.run }, id, never);
      },
    },
  );
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded' });
  expect(starts).toBe(2);
});

test('a unit whose request was lost in a power cut leaves no result, and the repeated step is performed', async () => {
  const { options, state } = await hostWith(installed);
  const id = idOf(canonicalBytes(request));
  await expect(performRequest(options, id, never)).rejects.toSatisfy((it) =>
    isFleetError(it, 'REFERENCE_MISSING'),
  );
  expect(await readResult(stepFolder(state, id))).toBeUndefined();
  expect(await runStep(request, options, never)).toMatchObject({ outcome: 'succeeded' });
});

test('stopping the agent stops the unit of the step', async () => {
  const stop = new AbortController();
  const { options, calls } = await hostWith(
    { 'show --property=LoadState': 'loaded\n' },
    {
      services: 'systemd',
      onRun: async (argv) => {
        if (argv.includes('start')) stop.abort();
      },
    },
  );
  await expect(runStep(request, options, stop.signal)).rejects.toSatisfy((it) => isFleetError(it, 'ABORTED'));
  expect(calls.at(-1)?.slice(3, 4)).toEqual(['stop']);
});

const hook = {
  package: 'hello',
  from: '0.9',
  to: '1',
  path: '/opt/dump',
  program: 'Packages',
  timeoutSeconds: 60,
} as const;

/** What ran, in short: 'apt-get install', '<the hook>'. */
const shortOf = (calls: readonly (readonly string[])[]): readonly string[] =>
  calls.flatMap((argv) => {
    if (argv[0]?.endsWith('scratch/Packages')) return ['hook'];
    return argv.includes('--yes') ? ['install'] : [];
  });

test('a "before" hook runs only while the version whose data it saves is fully installed', async () => {
  const upgrade = { ...request, hooks: [{ ...hook, when: 'before' }] } as const;
  for (const [shown, ran] of [
    ['hello\tall\t0.9\tinstall\tok\tinstalled\n', ['hook', 'install']],
    ['hello\tall\t0.9\tinstall\tok\thalf-installed\n', ['install']],
    ['hello\tall\t1\tinstall\tok\tunpacked\n', ['install']],
  ] as const) {
    const { options, calls } = await hostWith({ ...installed, 'dpkg-query': shown });
    await runStep(upgrade, options, never);
    expect(shortOf(calls)).toEqual(ran);
  }
});

test('a failing hook ends the step before the installation and is reported with the first lines of its output', async () => {
  const upgrade = { ...request, hooks: [{ ...hook, when: 'before' }] } as const;
  const { options, calls } = await hostWith(
    {
      ...installed,
      'dpkg-query': 'hello\tall\t0.9\tinstall\tok\tinstalled\n',
    },
    {
      answer: (argv) =>
        argv[0]?.endsWith('scratch/Packages')
          ? { code: 4, stdout: 'dumping\n', stderr: 'the disk is full\n' }
          : undefined,
    },
  );
  expect(await runStep(upgrade, options, never)).toMatchObject({
    outcome: 'failed',
    code: 4,
    message: 'hello: the before hook /opt/dump ended with 4: the disk is full / dumping',
  });
  expect(shortOf(calls)).toEqual(['hook']);
});
