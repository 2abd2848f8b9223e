/** The sign of a number under a directive's flags '+' and ' '. */
export const signOf = (
  isNegative: boolean,
  { plus, space }: { readonly plus: boolean; readonly space: boolean },
): string => {
  if (isNegative) return '-';
  if (plus) return '+';
  return space ? ' ' : '';
};
