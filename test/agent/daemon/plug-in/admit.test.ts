import { expect, it } from 'vitest';
import { admit, type PlugInPolicy } from '../../../../agent/daemon/plug-in/admit.ts';

const policy: PlugInPolicy = { plugIn: true, plugInFileSystems: ['vfat', 'exfat'], plugInMaxGib: 1 };
const facts = { device: 'sdb1', fileSystem: 'vfat', bytes: 2 ** 30 };

it('mounts an allowed file system up to the limit', () => {
  expect(admit(policy, facts)).toEqual({ kind: 'mount', fileSystem: 'vfat' });
});

it('mounts nothing while plugIn is off', () => {
  expect(admit({ ...policy, plugIn: false }, facts)).toEqual({ kind: 'off' });
});

it.each(['crypto_LUKS', 'BitLocker'])('stops at a device that is encrypted as a whole (%s)', (fileSystem) => {
  expect(admit(policy, { ...facts, fileSystem })).toEqual({ kind: 'stopped', why: { kind: 'encrypted' } });
});

it.each(['ext4', 'ntfs', undefined])('stops at file system %s, which is not allowed', (fileSystem) => {
  const why = { kind: 'file-system', fileSystem: fileSystem ?? 'none', allowed: ['vfat', 'exfat'] };
  expect(admit(policy, { ...facts, fileSystem })).toEqual({ kind: 'stopped', why });
});

it('stops at a device above the limit', () => {
  expect(admit(policy, { ...facts, bytes: 2 ** 30 + 512 })).toEqual({
    kind: 'stopped',
    why: { kind: 'too-large', gib: 1 },
  });
});
