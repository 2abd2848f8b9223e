import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  type SettingRecord,
  recordSettings,
  describeSysctl,
  sysctlDifferences,
} from '../../../../../agent/apply/host/settings/read-sysctl.ts';
import { isSameValue, withoutNames, words } from '../../../../../agent/apply/host/live/sysctl-lines.ts';
import { programFor, settingRecord } from '../../../../../agent/apply/host/settings/setting.ts';

test.each([
  ['/etc/sysusers.d/press.conf', 'sysusers'],
  ['/etc/tmpfiles.d/press.conf', 'tmpfiles'],
  ['/etc/sysctl.d/50-press.conf', 'sysctl'],
  ['/etc/sysctl.d/README', undefined],
  ['/etc/sysctl.d/more/50-press.conf', undefined],
  ['/usr/lib/sysctl.d/50-press.conf', undefined],
])('%s is applied by %s', (path, program) => {
  expect(programFor(path)).toBe(program);
});

test('settingRecord names the record of a settings file differently from any systemd unit', () => {
  expect(settingRecord('/etc/sysctl.d/50-press.conf')).toBe('sysctl.d:50-press.conf');
});

test('sysctlDifferences compares the last line of each name with the kernel, in dotted and slashed spelling', async () => {
  const type = (await readFile('/proc/sys/kernel/ostype', 'utf8')).trim();
  const ports = (await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')).trim();
  const find = (text: string) => sysctlDifferences(Buffer.from(text));
  expect(await find(`kernel.ostype = x\nkernel/ostype=${type}\n# kernel.ostype = y\n`)).toEqual([
    { name: 'kernel.ostype', wanted: 'x', live: type },
  ]);
  expect(await find(`kernel.ostype = x\nkernel.ostype = ${type}\n`)).toEqual([]);
  expect(await find(`net.ipv4.ip_local_port_range = ${ports.replaceAll(/\s+/g, '   ')}\n`)).toEqual([]);
  expect(await find('-kernel.ostype = x\nnet.ipv4.conf.*.rp_filter = 7\n')).toEqual([]);
});

test('a name never leads out of /proc/sys', async () => {
  const found = await sysctlDifferences(Buffer.from('kernel/../../../etc/hostname = x\n/etc/hostname = x\n'));
  expect(found.map(({ live }) => live)).toEqual([undefined]);
});

const differences = (text: string, before?: SettingRecord) => sysctlDifferences(Buffer.from(text), before);

test.each([
  ['0x10', '16'],
  ['020', '16'],
  ['3', '3\t4\t1\t7'],
  ['-1', '-1'],
  ['+5', '5'],
  ['0X7fFFffffFFFFffff', '9223372036854775807'],
  ['4096 0x10000 6291456', '4096\t65536\t6291456'],
  ['text', 'text'],
])('the kernel prints %j as %j', (wanted, live) => {
  expect(isSameValue(wanted, words(live))).toBe(true);
});

test.each([
  ['16', '17'],
  ['08', '8'],
  ['yes', '1'],
  ['3 4 1 7', '3'],
  ['4', '3\t4\t1\t7'],
  ['9223372036854775807', '9223372036854775806'],
  ['cubic', 'cubic reno'],
  ['', '0'],
])('isSameValue finds %j different from %j', (wanted, live) => {
  expect(isSameValue(wanted, words(live))).toBe(false);
});

test('a value in hexadecimal is the one that the kernel prints', async () => {
  const live = (await readFile('/proc/sys/net/core/rmem_max', 'utf8')).trim();
  expect(await differences(`net.core.rmem_max = 0x${Number(live).toString(16)}\n`)).toEqual([]);
  expect(await differences(`net.core.rmem_max = 0x${(Number(live) + 1).toString(16)}\n`)).toHaveLength(1);
});

test('sysctlDifferences skips write-only parameters and reports those that the kernel does not have', async () => {
  expect(await differences('net.ipv4.route.flush = 1\n')).toEqual([]);
  const found = await differences('net.no-such-module.x = 1\nnet.ipv4.no_such_thing = 1\n-net.none.y = 1\n');
  expect(found.map(describeSysctl)).toEqual([
    'net.no-such-module.x does not exist: it is set when its module is loaded or its interface appears',
    'net.ipv4.no_such_thing is unknown to this kernel, not 1',
  ]);
  expect(found.map(({ why }) => why)).toEqual(['missing', undefined]);
});

test('sysctlDifferences compares with the values that the kernel recorded after the last write, also for patterns and "-" lines', async () => {
  const text =
    'kernel.ostype = rounded\n-kernel.osrelease = refused\nkernel.os*ype = x\n-kernel.none.x = 1\n';
  const before = await recordSettings(Buffer.from(text), new Set());
  expect(await differences(text)).not.toEqual([]);
  expect(await differences(text, before)).toEqual([]);
  const other = Object.fromEntries(Object.keys(before).map((key) => [key, 'sha256:other']));
  expect((await differences(text, other)).map(({ name }) => name)).toEqual([
    'kernel.ostype',
    'kernel.osrelease',
    'kernel.none.x',
  ]);
  expect(JSON.stringify(before)).not.toContain('Linux');
});

test('a later file of the package overrides an earlier one, and a private parameter is not shown', async () => {
  const file = Buffer.from('kernel.ostype = x\nkernel.osrelease = y\n');
  expect((await sysctlDifferences(file, {}, new Set(['kernel.ostype']))).map(({ name }) => name)).toEqual([
    'kernel.osrelease',
  ]);
  expect(withoutNames(file, new Set(['kernel.ostype'])).toString()).toBe('\nkernel.osrelease = y\n');
  const [hidden] = await differences('vm.mmap_rnd_bits = 1\n');
  expect(hidden && describeSysctl(hidden)).toBe('vm.mmap_rnd_bits has another value than the package sets');
});
