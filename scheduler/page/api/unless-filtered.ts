import type { ShouldRevalidateFunctionArgs } from 'react-router';

/** Parameters of addresses that the hub is asked with; the page applies all others to the rows that it has. */
const ASKED = ['environment', 'site', 'cursor', 'name', 'at'] as const;

/** Whether a view is read again: not when only its choices, order or columns change. */
export const unlessFiltered = ({ currentUrl, nextUrl }: ShouldRevalidateFunctionArgs): boolean => {
  if (currentUrl.href === nextUrl.href || currentUrl.pathname !== nextUrl.pathname) return true;
  return ASKED.some((name) => currentUrl.searchParams.get(name) !== nextUrl.searchParams.get(name));
};
