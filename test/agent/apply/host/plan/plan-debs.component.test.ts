import { expect, test } from 'vitest';
import { never, packageOf, sandbox } from '../sandbox.ts';

const desired = packageOf({
  files: {
    '/var/lib/fleet-ferry/apt/probe/Packages': 'Package: probe\nVersion: 1\nArchitecture: all\n',
    '/var/lib/fleet-ferry/apt/probe/Release': 'Suite: probe\n',
  },
  install: {
    repository: '/var/lib/fleet-ferry/apt/probe',
    packages: [{ name: 'probe', version: '1' }],
    conffiles: 'keep',
    onRemoval: 'remove',
    services: 'start',
    hooks: [],
  },
});

test.each(['none', 'systemd'] as const)(
  'below a folder, with services: %s, the Debian packages of this machine are neither read nor changed',
  async (services) => {
    const programs: string[] = [];
    await using host = await sandbox({
      services,
      run: (argv) => {
        programs.push(argv.join(' '));
        return Promise.resolve({ code: 0, stdout: '', stderr: '' });
      },
    });
    const { steps } = await host.target.plan(desired, [], new Map(), never);
    const ofDebs = steps.filter(({ key }) => key.startsWith('deb'));
    expect(ofDebs.map(({ key, outcome, reason }) => `${key} ${outcome}: ${reason}`)).toEqual([
      'debs skipped: root is not /',
    ]);
    expect(await host.target.settle(desired, never)).toEqual([
      {
        name: 'debs',
        outcome: 'skipped',
        message: 'Debian packages are not installed: root is not /',
      },
    ]);
    const drifts = await host.target.observe(desired, [], never);
    expect(drifts.filter(({ key }) => key.startsWith('deb'))).toEqual([]);
    expect(programs).toEqual([]);
  },
);
