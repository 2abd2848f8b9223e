/** 'registry.example:5000 asks to wait, 20 s'. @param from 'oci://registry.example:5000/fleet' */
export const describePause = (
  from: string,
  { ms, asked }: { readonly ms: number; readonly asked: boolean },
): string => {
  const [host = from] = from.replace(/^oci:\/\//, '').split('/');
  const seconds = `${Math.ceil(ms / 1000)} s`;
  return asked ? `${host} asks to wait, ${seconds}` : `${host} does not answer, next try in ${seconds}`;
};
