// Finding plans on behalf of assignments, charges and payments. The catalogue is the operator's, so every account may.
export { findPlanByPrice, listPlansById, requirePlan, requirePlanForShare } from './queries.ts'
