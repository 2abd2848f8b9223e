import type { Config } from '../../config/config.ts';
import type { DeviceFacts } from './device-facts.ts';
import type { NotAdmitted } from './progress.ts';

export type Admission =
  | { readonly kind: 'off' }
  | { readonly kind: 'stopped'; readonly why: NotAdmitted }
  | { readonly kind: 'mount'; readonly fileSystem: string };

export type PlugInPolicy = Pick<Config, 'plugIn' | 'plugInFileSystems' | 'plugInMaxGib'>;

/** Decides from the properties that udev found whether a device that was plugged in is mounted. */
export const admit = (
  { plugIn, plugInFileSystems, plugInMaxGib }: PlugInPolicy,
  { fileSystem, bytes }: Pick<DeviceFacts, 'fileSystem' | 'bytes'>,
): Admission => {
  if (!plugIn) return { kind: 'off' };
  if (fileSystem === 'crypto_LUKS' || fileSystem === 'BitLocker')
    return { kind: 'stopped', why: { kind: 'encrypted' } };
  const allowed = plugInFileSystems.find((one) => one === fileSystem);
  if (allowed === undefined)
    return {
      kind: 'stopped',
      why: { kind: 'file-system', fileSystem: fileSystem ?? 'none', allowed: plugInFileSystems },
    };
  if (bytes > plugInMaxGib * 2 ** 30)
    return { kind: 'stopped', why: { kind: 'too-large', gib: plugInMaxGib } };
  return { kind: 'mount', fileSystem: allowed };
};
