/** Whether the first segment looks like a registry host to docker, as in 'registry.example/fleet' or 'edge:5000/fleet'. */
export const looksLikeRegistry = (where: string): boolean => {
  const [first = '', ...rest] = where.split('/');
  if (first === '' || first.startsWith('.')) return false;
  return /:\d+$/.test(first) || (first.includes('.') && rest.length > 0);
};
