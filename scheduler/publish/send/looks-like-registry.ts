/** 'registry.example/fleet', 'edge:5000/fleet': what docker would take for a host stands in front. */
export const looksLikeRegistry = (where: string): boolean => {
  const [first = '', ...rest] = where.split('/');
  if (first === '' || first.startsWith('.')) return false;
  return /:\d+$/.test(first) || (first.includes('.') && rest.length > 0);
};
