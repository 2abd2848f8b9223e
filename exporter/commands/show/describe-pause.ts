import type { Pause } from '#bundles/transport/registry/registry';

/** 'registry.example:5000 asks to wait, 20 s'. @param from 'oci://registry.example:5000/fleet', the address to name when the pause has no host */
export const describePause = (from: string, { ms, asked, host }: Pause): string => {
  const who = host ?? from.replace(/^oci:\/\//, '').split('/')[0];
  const seconds = `${Math.ceil(ms / 1000)} s`;
  return asked ? `${who} asks to wait, ${seconds}` : `${who} does not answer, next try in ${seconds}`;
};
