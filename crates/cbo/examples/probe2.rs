use cbo::*; use cbo::simd::*; use cbo::noise::*; use std::time::Instant;
struct Ras<'a,T>{rows:&'a [T],dim:usize,out:&'a mut [T]}
impl<T:Scalar> Kernel<T> for Ras<'_,T>{ type Output=();
 #[inline(always)] fn run<V:Vector<Scalar=T>>(self){
   let mut sq=[V::constant(0.0);16]; let d=self.dim;
   for (r,o) in self.rows.chunks(V::LANES*d).zip(self.out.chunks_mut(V::LANES)){
     let n=r.len()/d; let mut e=V::constant(0.0);
     let mut k=0; while k<d { let w=V::LANES.min(d-k);
       for i in 0..V::LANES { sq[i]= if i<n {V::load_partial(&r[i*d+k..i*d+k+w])} else {V::constant(0.0)}; }
       V::transpose(&mut sq[..V::LANES]);
       for i in 0..w { let x=sq[i]; e = x.mul_add(x,e); e=x.sin_pi_squared().mul_add(V::constant(5.0),e); }
       k+=w; }
     e.store_partial(o);
   } } }
fn best(reps:usize,mut f:impl FnMut())->f64{ let mut b=f64::INFINITY; for _ in 0..reps{ let t=Instant::now(); for _ in 0..20{f()} b=b.min(t.elapsed().as_secs_f64()/20.0);} b}
fn go<T:Scalar>(rows:usize,d:usize){
  let mut x=vec![T::from_f64(0.3);rows*d]; let mut out=vec![T::default();rows]; let mut z=vec![T::default();scratch_len(rows,d)];
  let c=(rows*d) as f64;
  let n=best(if std::env::args().nth(1).is_some(){1}else{400},||Noise::new(1,Stream::Diffusion,3).fill_normals(0,rows,d,&mut z));
  let e=best(if std::env::args().nth(1).is_some(){1}else{400},||run(Ras{rows:&x,dim:d,out:&mut out}));
  let (n,e)=(n*1e9/c,e*1e9/c);
  let mut m=f64::INFINITY; 
  let cfg=CboConfig{particles:rows,steps:Some(2000),threads:1,alpha:Alpha::Constant(1e15),sigma:Sigma::Constant(0.32),dt:0.01,..Default::default()};
  struct Z(usize); impl<T:Scalar> Objective<T> for Z{fn dim(&self)->usize{self.0} fn energies(&self,_:StepContext,_:Rows<'_,T>,out:&mut [T])->Result<(),EvalError>{out.fill(T::from_f64(1.0));out[0]=T::from_f64(0.0);Ok(())}}
  for _ in 0..10{ m=m.min(solve::<T>(&cfg,&Z(d),&mut ()).unwrap().seconds); }
  let m=m*1e9/c/2000.0; x[0]=T::default();
  println!("{} rows={rows} d={d}: normals {n:.3} rastrigin {e:.3} step without objective {m:.3} ns/coord",T::NAME);
}
fn main(){ let a=std::env::args().nth(1); if a.is_some(){ for _ in 0..10 {go::<f64>(100,20);} } else {go::<f64>(64,16); go::<f64>(100,20); go::<f32>(64,16); go::<f32>(100,20);} }
