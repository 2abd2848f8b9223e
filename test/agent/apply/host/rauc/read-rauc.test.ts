import { expect, test } from 'vitest';
import { describeSlot, parseRauc } from '../../../../../agent/apply/host/rauc/read-rauc.ts';

const slot = (bootname: string | null, state: string, more: object = {}) => ({
  class: 'rootfs',
  device: `/dev/disk/by-partlabel/${bootname}`,
  type: 'raw',
  bootname,
  state,
  parent: null,
  mountpoint: null,
  boot_status: 'good',
  ...more,
});

/** The form of `rauc status --detailed --output-format=json` of RAUC 1.8 (Debian 12) and 1.13 (Debian 13). */
const status = (slots: readonly object[], primary: string | null = 'rootfs.1'): string =>
  JSON.stringify({ compatible: 'press', variant: '', booted: 'B', boot_primary: primary, slots });

const A = { 'rootfs.0': slot('A', 'inactive', { slot_status: { bundle: { compatible: null } } }) };
const B = {
  'rootfs.1': slot('B', 'booted', {
    slot_status: { bundle: { compatible: 'press', version: '2' }, checksum: { size: 4194304 }, status: 'ok' },
  }),
};

test('the state of RAUC is the booted slot, the next one, and the version in each', () => {
  expect(parseRauc(status([B, A]))).toEqual({
    booted: { name: 'rootfs.1', version: '2' },
    primary: 'rootfs.1',
    slots: [
      { name: 'rootfs.1', version: '2' },
      { name: 'rootfs.0', version: undefined },
    ],
  });
});

test('a slot that the boot loader cannot start, such as one for data, is no slot of a system', () => {
  const data = { 'data.0': slot(null, 'active', { slot_status: { bundle: { version: '9' } } }) };
  expect(parseRauc(status([data, B]))?.slots.map(({ name }) => name)).toEqual(['rootfs.1']);
});

test('a boot loader that names no next slot has none', () => {
  expect(parseRauc(status([B, A], null))?.primary).toBeUndefined();
});

test.each([
  ['text that is not JSON', 'Failed to connect'],
  ['another form', '[]'],
  ['no slots', '{}'],
  ['no booted slot', status([A])],
])('no state is read from an answer with %s', (_what, text) => {
  expect(parseRauc(text)).toBeUndefined();
});

test('a slot is described by its version, or as written by the factory', () => {
  expect(describeSlot({ name: 'rootfs.1', version: '2' })).toBe('rootfs.1 with version 2');
  expect(describeSlot({ name: 'rootfs.0', version: undefined })).toBe('rootfs.0, which RAUC did not write');
});
