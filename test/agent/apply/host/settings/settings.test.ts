import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sysctlDifferences } from '../../../../../agent/apply/host/settings/read-sysctl.ts';
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

test('no record of a setting has the name of a unit', () => {
  expect(settingRecord('/etc/sysctl.d/50-press.conf')).toBe('sysctl.d:50-press.conf');
});

test('kernel parameters are compared with the kernel, in both spellings, and the last line of a name counts', async () => {
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
