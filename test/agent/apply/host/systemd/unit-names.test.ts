import { expect, test } from 'vitest';
import { dropInFolders, isTemplate, templateOf } from '../../../../../agent/apply/host/systemd/unit-names.ts';
import { listOf } from '../../../../../agent/apply/host/systemd/unit-state.ts';

// That systemd reads these and no others is shown on a booted host (test/integration/hosts/units-host.test.ts).
test.each([
  ['web.service', 'web.service.d service.d'],
  ['line-a-web.socket', 'line-a-web.socket.d line-.socket.d line-a-.socket.d socket.d'],
  ['a--b-.service', 'a--b-.service.d a-.service.d a--.service.d service.d'],
  ['a-b@1.service', 'a-b@1.service.d a-b@.service.d a-@1.service.d a-@.service.d a-.service.d service.d'],
  ['x@.service', 'x@.service.d service.d'],
  ['notes', ''],
])('systemd reads drop-ins of %s from %s', (name, folders) => {
  expect([...dropInFolders(name)].join(' ')).toBe(folders);
});

test('templateOf and isTemplate tell template units from their instances', () => {
  expect(templateOf('web@1.service')).toBe('web@.service');
  expect(templateOf('web.service')).toBe('web.service');
  expect([isTemplate('web@.service'), isTemplate('web@1.service')]).toEqual([true, false]);
});

test('listOf splits a systemctl list with quoted and escaped paths', () => {
  expect(listOf(String.raw`/a/b.conf "/a/b c.conf" "/q\"u\$o\\x.conf"`)).toEqual([
    '/a/b.conf',
    '/a/b c.conf',
    String.raw`/q"u$o\x.conf`,
  ]);
  expect(listOf('')).toEqual([]);
});
