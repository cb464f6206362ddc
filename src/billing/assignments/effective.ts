// Which plan prices whom on a day: asked for the last day of a month.
export { findPaidPlanId, listAccountPlans, rateCards } from './queries.ts'
